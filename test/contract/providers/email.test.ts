// oxlint-disable max-lines -- one suite for all mail adapters
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readdir, readFile } from 'node:fs/promises';
import { createHash, createHmac } from 'node:crypto';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { ProviderError, systemClock } from '../../../src/platform/kernel/index.ts';
import { type Outbound, OutboundError } from '../../../src/platform/outbound/index.ts';
import { type EmailAdapter, type Mailer, type Message, openProviders } from '../../../src/providers/registry/index.ts';
import type { Call } from '../../../src/providers/kit/wire/http.ts';
import { adapters } from '../../../src/providers/registry/registry.gen.ts';
import { mailServer, type MailServer } from '../../support/peers/mail-server.ts';
import { describePeer, npmPeer, type Peer } from '../../support/peers/peers.ts';
import { freePort } from '../../support/wire/ports.ts';
import {
  describeProviders,
  type ProviderFixture,
  type Suite,
  wireChecks,
} from '../../support/peers/suites/provider.ts';
import { localProviders } from '../../support/worlds/providers.ts';

const FACTS = new URL('../../fixtures/providers/email/', import.meta.url);
interface Facts {
  title: string;
  authType: string;
  sends: boolean;
  events: boolean;
  credentialFields: { name: string; secret: boolean; required?: boolean; default?: string }[];
}
const email = adapters.filter((adapter) => adapter.domain === 'email');

const suite: Suite<EmailAdapter, Mailer> = {
  domain: 'email',
  open: (providers, adapter, values) => providers.mailer(adapter, values)!,
  operations: { send: (mailer, message: Message) => mailer.send(message) },
};
await describeProviders(suite, { without: ['empty', 'smtp'], beyond: ['events'] });

describe('the suite detects an adapter', () => {
  type Connect = NonNullable<EmailAdapter['connect']>;
  /** Names the checks that Resend fails with another line or mailer. */
  async function foundIn(wrong: (connect: Connect) => Connect): Promise<string[]> {
    const right = email.find(({ id }) => id === 'resend') as EmailAdapter;
    const { default: fixture } = (await import(new URL('resend.ts', FACTS).pathname)) as { default: ProviderFixture };
    const checks = wireChecks(suite, { ...right, connect: wrong(right.connect!) }, fixture).filter(({ name }) =>
      name.startsWith('send'),
    );
    const found: string[] = [];
    for (const check of checks) await check.run().catch(() => found.push(check.name));
    return found;
  }
  /** Its calls are sent with this changed. */
  const calling = (change: (call: Call) => Call) =>
    foundIn(
      (connect) => (line) =>
        connect({
          ...line,
          http: { ...line.http, post: (path, reply, call = {}) => line.http.post(path, reply, change(call)) },
        }),
    );
  const without = (call: Call, name: keyof Call): Call =>
    Object.fromEntries(Object.entries(call).filter(([key]) => key !== name));
  const ASKS = 'send: sends exactly the documented requests, and reads the answer';

  test('that is correct (no fault found)', async () => expect(await calling((call) => call)).toEqual([]));
  test('that leaves out the idempotency key', async () =>
    expect(await calling((call) => without(call, 'idempotencyKey'))).toContain(ASKS));
  test('that sends undocumented parameters', async () =>
    expect(await calling((call) => ({ ...call, query: { debug: '1' } }))).toContain(ASKS));
  test('that answers unavailable for a lost answer', async () =>
    expect(await calling((call) => without(call, 'creates'))).toContain(
      'send, exchange 1: a broken connection, no answer and a server error are lost',
    ));
  test('that accepts a refusal', async () => {
    const found = await foundIn((connect) => (line) => {
      const mailer = connect(line);
      return { ...mailer, send: (message) => mailer.send(message).catch(() => ({ messageId: '1' })) };
    });
    expect(found).toContain('send: a bad recipient is rejected');
  });
  test('that sends twice', async () => {
    const found = await foundIn((connect) => (line) => {
      const mailer = connect(line);
      return { ...mailer, send: (message) => mailer.send(message).catch(() => mailer.send(message)) };
    });
    expect(found).toContain('send, exchange 1: a broken connection, no answer and a server error are lost');
  });
});

test('the seven providers of the specification are registered, each with its facts', async () => {
  expect(email.map(({ id }) => id).toSorted()).toEqual([
    'empty',
    'mailgun',
    'postmark',
    'resend',
    'sendgrid',
    'ses',
    'smtp',
  ]);
  const facts = (await readdir(FACTS)).filter((name) => name.endsWith('.facts.json'));
  expect(facts.toSorted()).toEqual(email.map(({ id }) => `${id}.facts.json`).toSorted());
});

test.each(email.map((adapter) => [adapter.id, adapter] as const))(
  '%s declares its facts, and the catalog entry shows them [PV6]',
  async (id, adapter) => {
    const facts = JSON.parse(await readFile(new URL(`${id}.facts.json`, FACTS), 'utf8')) as Facts;
    await using providers = localProviders();
    expect(providers.catalog('email').find(({ providerId }) => providerId === id)).toMatchObject({
      displayName: facts.title,
      authType: facts.authType,
      version: 'v1',
      status: 'active',
      verified: false,
      credentialFields: facts.credentialFields.map(({ name, secret, required }) => ({
        name,
        secret,
        required: required ?? expect.any(Boolean),
      })),
      capabilities: { operations: [...(facts.sends ? ['send'] : []), ...(facts.events ? ['events'] : [])] },
    });
    expect(adapter.connect !== undefined).toBe(facts.sends);
    for (const { name, default: usual } of facts.credentialFields)
      if (usual !== undefined) expect(adapter.credentials[name]?.default).toBe(usual);
  },
);

const message = (more: Partial<Message> = {}): Message => ({
  id: '0190a0b0-0000-7000-8000-000000000001',
  to: 'ann@example.com',
  subject: 'Hello',
  text: 'Hello, world',
  html: '<p>Hello, world</p>',
  ...more,
});
/** Answers the requests for one mail, on a wire that accepts anything and answers nothing readable. */
async function askedBy(id: string, values: Record<string, string>, to = 'ann@example.com') {
  const asked: { url: string; method: string; headers: Record<string, string>; body: string }[] = [];
  const outbound: Pick<Outbound, 'fetch'> = {
    fetch: async (url, { method = 'GET', headers = {}, body } = {}) => {
      asked.push({
        url,
        method,
        headers: { ...headers },
        body: body instanceof Uint8Array ? new TextDecoder().decode(body) : String(body),
      });
      throw new OutboundError('unreachable', 'Nobody is there');
    },
  };
  const providers = openProviders({ outbound: outbound as Outbound, clock: systemClock, sandboxEnabled: false });
  const adapter = providers.resolve('email', id);
  const { default: fixture } = (await import(new URL(`${id}.ts`, FACTS).pathname)) as { default: ProviderFixture };
  const mailer = providers.mailer(adapter, providers.fields(adapter, { ...fixture.values, ...values }))!;
  const { failure } = await failureOf(mailer.send(message({ to })));
  return { asked, failure };
}

describe('over HTTP', () => {
  const overHttp = email.flatMap(({ id }) => (id === 'empty' || id === 'smtp' ? [] : [id]));

  test.each([
    ['sendgrid', 'eu', 'https://api.eu.sendgrid.com'],
    ['mailgun', 'eu', 'https://api.eu.mailgun.net'],
    ['ses', 'us-east-1', 'https://email.us-east-1.amazonaws.com'],
  ])('%s of the region %s is asked at %s', async (id, region, origin) => {
    const { asked } = await askedBy(id, { region });
    expect(asked.map(({ url }) => new URL(url).origin)).toEqual([origin]);
  });

  test.each(['', 'session-0123456789'])(
    'ses gets a signature over the body and every named header, with the session token %j',
    async (sessionToken) => {
      const { asked } = await askedBy('ses', { sessionToken });
      const [{ url, method, headers, body }] = asked as [(typeof asked)[number]];
      const hex = (data: string) => createHash('sha256').update(data).digest('hex');
      const hmac = (key: Buffer | string, data: string) => createHmac('sha256', key).update(data).digest();
      const time = headers['x-amz-date']!;
      const signed: Record<string, string> = {
        host: new URL(url).host,
        'x-amz-date': time,
        ...(sessionToken !== '' && { 'x-amz-security-token': sessionToken }),
      };
      const names = Object.keys(signed).join(';');
      const canonical = [
        method,
        new URL(url).pathname,
        '',
        ...Object.entries(signed).map(([name, value]) => `${name}:${value}`),
        '',
        names,
        hex(body),
      ].join('\n');
      const scope = `${time.slice(0, 8)}/eu-west-1/ses/aws4_request`;
      const key = scope.split('/').reduce<Buffer | string>(hmac, 'AWS4secret-0123456789 of+demo') as Buffer;
      const signature = hmac(key, ['AWS4-HMAC-SHA256', time, scope, hex(canonical)].join('\n')).toString('hex');
      expect(headers['authorization']).toBe(
        `AWS4-HMAC-SHA256 Credential=AKIA0123456789/${scope}, SignedHeaders=${names}, Signature=${signature}`,
      );
      expect(headers['x-amz-security-token']).toBe(sessionToken === '' ? undefined : sessionToken);
    },
  );

  const SEVERAL = [
    'ann@example.com, eve@example.com',
    'ann@example.com;eve@example.com',
    'Ann <ann@example.com>',
    'ann@example.com\r\nBcc: eve@example.com',
    'ann',
    '',
  ];
  test.each(overHttp)('%s refuses anything but one address [X5]', async (id) => {
    for (const to of SEVERAL) expect([to, await askedBy(id, {}, to)]).toEqual([to, { asked: [], failure: 'rejected' }]);
  });

  test.each(overHttp)('%s gets no name that could end a header [X5]', async (id) => {
    const { asked } = await askedBy(id, { fromName: 'Eve" <eve@evil.example>\r\nBcc: eve@evil.example\0' });
    expect(asked).toHaveLength(1);
    for (const line of ['\r', '\n', '\0', '%0D', '%0A', '\\r', '\\n', '\\u0000'])
      expect([line, asked[0]!.body.includes(line)]).toEqual([line, false]);
  });
});

const failureOf = async (work: Promise<unknown>): Promise<{ failure: string; message: string }> => {
  try {
    await work;
  } catch (error) {
    if (error instanceof ProviderError) return { failure: error.failure, message: error.message };
    throw error;
  }
  throw new Error('It did not fail');
};

await describePeer(
  'email',
  () => npmPeer('email'),
  ({ start }) => {
    let peer: Peer;
    let server: MailServer;
    const open: Mailer[] = [];

    /** The adapter as the product opens it. `trusted`: the server's certificate is known. */
    function mailer(values: Record<string, string>, trusted = true): Mailer {
      const providers = localProviders(trusted ? { authorities: [server.certificate.cert] } : {});
      const adapter = providers.resolve('email', 'smtp');
      const made = providers.mailer(
        adapter,
        providers.fields(adapter, {
          host: '127.0.0.1',
          fromAddress: 'no-reply@rookery.example',
          fromName: 'Rookery',
          ...values,
        }),
      )!;
      open.push(made);
      return made;
    }

    beforeAll(async () => {
      peer = await start();
      server = mailServer(peer);
    });
    afterAll(async () => {
      for (const one of open) one.close();
      await peer.stop();
    });

    describe('smtp', () => {
      test.each([
        ['upgraded by STARTTLS', { starttls: true }, 'starttls', true],
        ['encrypted from the first byte', { tls: true }, 'tls', true],
        ['not encrypted, where that was chosen', {}, 'none', false],
      ])('a mail arrives over a connection that is %s', async (_, listening, secure, encrypted) => {
        const port = await server.listen(listening);
        const to = `${secure}@example.com`;
        const { messageId } = await mailer({ port: String(port), secure }).send(message({ to }));
        const [mail, ...more] = await server.mails(to);
        expect(more).toEqual([]);
        expect(mail).toMatchObject({
          envelope: { from: 'no-reply@rookery.example', to: [to] },
          secure: encrypted,
          user: null,
          from: [{ name: 'Rookery', address: 'no-reply@rookery.example' }],
          to: [{ name: '', address: to }],
          subject: 'Hello',
          messageId: `<${messageId}>`,
        });
        expect(messageId).toBe('0190a0b0-0000-7000-8000-000000000001@rookery.example');
        expect([mail!.text!.trim(), mail!.html!.trim()]).toEqual(['Hello, world', '<p>Hello, world</p>']);
        expect(mail!.headers).toContain('auto-submitted');
      });

      test('logs in, and redacts the password from a refusal', async () => {
        const port = String(await server.listen({ starttls: true, login: { user: 'ann', pass: 'a-secret-password' } }));
        await mailer({ port, username: 'ann', password: 'a-secret-password' }).send(
          message({ to: 'login@example.com' }),
        );
        expect((await server.mails('login@example.com')).map(({ user, secure }) => ({ user, secure }))).toEqual([
          { user: 'ann', secure: true },
        ]);
        const refused = await failureOf(
          mailer({ port, username: 'ann', password: 'another-password' }).send(message()),
        );
        expect(refused.failure).toBe('reauthorize');
        expect(refused.message).not.toContain('another-password');
        expect(refused.message).not.toContain(Buffer.from('another-password').toString('base64'));
      });

      test('checks the login without sending a mail', async () => {
        const port = String(await server.listen({ starttls: true, login: { user: 'ann', pass: 'a-secret-password' } }));
        await using providers = localProviders({ authorities: [server.certificate.cert] });
        const adapter = providers.resolve('email', 'smtp');
        const ask = (values: Record<string, string>) =>
          providers.check(
            adapter,
            providers.fields(adapter, { host: '127.0.0.1', port, fromAddress: 'no-reply@rookery.example', ...values }),
          )!;
        const before = (await server.mails()).length;
        expect(await ask({ username: 'ann', password: 'a-secret-password' })).toBe('127.0.0.1 takes the login');
        expect(await failureOf(ask({ username: 'ann', password: 'another-password' }))).toMatchObject({
          failure: 'reauthorize',
        });
        expect(await failureOf(ask({ port: '1' }))).toMatchObject({ failure: 'unavailable' });
        expect((await server.mails()).length).toBe(before);
      });

      test('sends nothing to a server without encryption, with an unknown certificate, or with another name', async () => {
        const [plain, encrypted] = [String(await server.listen()), String(await server.listen({ starttls: true }))];
        const before = (await server.mails()).length;
        expect(await failureOf(mailer({ port: plain }).send(message()))).toMatchObject({ failure: 'unavailable' });
        expect(await failureOf(mailer({ port: encrypted }, false).send(message()))).toMatchObject({
          failure: 'unavailable',
        });
        expect(await failureOf(mailer({ port: encrypted, host: '127.0.0.2' }).send(message()))).toMatchObject({
          failure: 'unavailable',
        });
        expect((await server.mails()).length).toBe(before);
      });

      test.each([
        ['a recipient that is not there (550)', 'unknown@example.com', 'rejected'],
        ['a content that is refused (554)', 'content@example.com', 'rejected'],
        ['a server that asks to come again (451)', 'busy-99@example.com', 'unavailable'],
      ])('%s is told apart', async (_, to, failure) => {
        const port = String(await server.listen({ starttls: true }));
        expect(await failureOf(mailer({ port }).send(message({ to })))).toMatchObject({ failure });
        expect(await server.mails(to)).toEqual([]);
      });

      test('keeps sending after a refusal, and after the server was down', async () => {
        const port = await server.listen({ starttls: true, port: await freePort() });
        const line = mailer({ port: String(port) });
        expect(await failureOf(line.send(message({ to: 'unknown@example.com' })))).toMatchObject({
          failure: 'rejected',
        });
        await line.send(message({ to: 'after-a-refusal@example.com' }));
        await server.close(port);
        expect(await failureOf(line.send(message()))).toMatchObject({ failure: 'unavailable' });
        await server.listen({ starttls: true, port });
        await line.send(message({ to: 'back-again@example.com' }));
        expect([
          (await server.mails('after-a-refusal@example.com')).length,
          (await server.mails('back-again@example.com')).length,
        ]).toEqual([1, 1]);
      });

      test('answers unavailable for a server that hangs up or speaks another protocol', async () => {
        for (const greeting of ['', 'HTTP/1.1 400 Bad Request\r\n\r\n']) {
          const odd = createServer((socket) => void socket.on('error', () => undefined).end(greeting));
          await new Promise<void>((resolve) => odd.listen(0, '127.0.0.1', resolve));
          const { port } = odd.address() as AddressInfo;
          expect(await failureOf(mailer({ port: String(port) }).send(message()))).toMatchObject({
            failure: 'unavailable',
          });
          odd.close();
        }
      });

      const TEXTS = [
        'Grüße, 世界 👩‍🚀',
        'e\u0301 \u202Eright to left',
        'a "quoted" <name>, with; marks',
        'x'.repeat(2_000),
      ];
      test.each(TEXTS)('delivers subject, name and text unchanged: %#', async (words) => {
        const port = String(await server.listen({ starttls: true }));
        const to = `words-${TEXTS.indexOf(words)}@example.com`;
        await mailer({ port, fromName: words.slice(0, 200) }).send(
          message({ to, subject: words, text: words, html: '<p>hello</p>' }),
        );
        const [mail] = await server.mails(to);
        expect(mail!.subject).toBe(words);
        expect(mail!.from).toEqual([{ name: words.slice(0, 200), address: 'no-reply@rookery.example' }]);
        expect([mail!.text!.trim(), mail!.html!.trim()]).toEqual([words, '<p>hello</p>']);
      });

      const BREAKS = ['\r\n', '\n', '\r', '\r\n ', '\n\t', '\u0085', '\u2028', '\0', '\r\n\r\n', '%0d%0a'];
      const INJECTED = ['Bcc: eve@example.com', 'X-Injected: yes', 'Content-Type: text/html'];
      const HOSTILE = BREAKS.flatMap((line) =>
        INJECTED.map((header): [string, string] => [JSON.stringify(line + header), line + header]),
      );
      test.each(HOSTILE)('writes no header from a subject or a name: %s [X5]', async (_, header) => {
        const port = String(await server.listen({ starttls: true }));
        const to = `hostile-${HOSTILE.findIndex(([, one]) => one === header)}@example.com`;
        await mailer({ port, fromName: `Eve${header}` }).send(
          message({ to, subject: `Hello${header}`, text: `Hello${header}` }),
        );
        const [mail] = await server.mails(to);
        expect(mail!.envelope).toEqual({ from: 'no-reply@rookery.example', to: [to] });
        expect(mail!.headers.toSorted()).toEqual([
          'auto-submitted',
          'content-type',
          'date',
          'from',
          'message-id',
          'mime-version',
          'subject',
          'to',
        ]);
        expect([mail!.cc, mail!.attachments, mail!.from.length, mail!.to.length]).toEqual([[], 0, 1, 1]);
      });

      test.each([
        'ann@example.com\r\nRCPT TO:<eve@example.com>',
        'ann@example.com, eve@example.com',
        'Ann <ann@example.com>, <eve@example.com>',
        '<ann@example.com> SIZE=1',
        'ann@example.com>\r\nDATA',
      ])('an odd address reaches nobody else: %j [X5]', async (to) => {
        const port = String(await server.listen({ starttls: true }));
        await mailer({ port })
          .send(message({ to, subject: 'To Ann alone' }))
          .catch(() => undefined);
        for (const { envelope } of await server.mails()) expect(envelope.to).not.toContain('eve@example.com');
      });
    });
  },
);
