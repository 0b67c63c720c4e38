import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { OutboundAnswer } from '../../../src/platform/outbound/index.ts';
import { apiDocument } from '../../support/peers/documents/api-documents.ts';
import { failureOf } from '../../support/peers/fake-network.ts';
import { CERTIFICATE_PATH, ses, SNS, TELLERS } from '../../support/peers/mail-events.ts';
import { describePeer, npmPeer, type Peer } from '../../support/peers/peers.ts';
import { localProviders } from '../../support/worlds/providers.ts';
import { MESSAGE } from '../../fixtures/providers/email/_message.ts';
import type { ProviderFixture } from '../../support/peers/suites/provider.ts';

const FIXTURES = new URL('../../fixtures/providers/email/', import.meta.url);
const fixtureOf = async (id: string) =>
  ((await import(new URL(`${id}.ts`, FIXTURES).pathname)) as { default: ProviderFixture }).default;

await describePeer(
  'email-apis',
  () => npmPeer('email-apis'),
  ({ start }) => {
    let peer: Peer;
    beforeAll(async () => {
      peer = await start();
    });
    afterAll(() => peer.stop());
    const ask = async (path: string, body: unknown) =>
      (await (await fetch(peer.url + path, { method: 'POST', body: JSON.stringify(body) })).json()) as Record<
        string,
        unknown
      >;

    /** The provider as the product opens it, on a server of this machine; `answers` are what that said. */
    async function opened(id: string, server: string) {
      const answers: OutboundAnswer[] = [];
      const providers = localProviders();
      const { outbound } = providers;
      const watched = {
        ...outbound,
        fetch: async (...call: Parameters<typeof outbound.fetch>) => {
          const answer = await outbound.fetch(...call);
          answers.push(answer);
          return answer;
        },
      };
      const own = localProviders({ outbound: watched, servers: { [`email/${id}`]: server } });
      const adapter = own.resolve('email', id);
      const values = own.fields(adapter, (await fixtureOf(id)).values);
      return {
        answers,
        mailer: own.mailer(adapter, values)!,
        check: () => own.check(adapter, values)!,
        async [Symbol.asyncDispose]() {
          await own[Symbol.asyncDispose]();
          await providers[Symbol.asyncDispose]();
        },
      };
    }

    test('an emulator of Resend accepts a mail, and a repeat as the same mail', async () => {
      const server = peer.env['resend'] as string;
      await using resend = await opened('resend', server);
      const first = await resend.mailer.send(MESSAGE);
      expect(await resend.mailer.send(MESSAGE)).toEqual(first);
      const other = await resend.mailer.send({ ...MESSAGE, id: '0190a0b0-0000-7000-8000-000000000002' });
      expect(other.messageId).not.toBe(first.messageId);
      const read = async (path: string) =>
        (await (await fetch(server + path, { headers: { authorization: 'Bearer re_x' } })).json()) as Record<
          string,
          unknown
        >;
      expect((await read('/emails'))['data']).toHaveLength(2);
      expect(await read(`/emails/${first.messageId}`)).toMatchObject({
        to: ['ann@example.com'],
        subject: MESSAGE.subject,
        html: MESSAGE.html,
        text: MESSAGE.text,
      });
      expect(await resend.check()).toBe('Resend takes the key, and mail.example.com is verified');
      // under a key that was used
      expect((await failureOf(resend.mailer.send({ ...MESSAGE, text: 'Other words' }))).failure).toBe('lost');
    });

    test('an emulator of Amazon SES receives a mail unchanged', async () => {
      const server = peer.env['ses'] as string;
      await using amazon = await opened('ses', server);
      const { messageId } = await amazon.mailer.send(MESSAGE);
      const { emails } = (await (await fetch(`${server}/store`)).json()) as { emails: Record<string, unknown>[] };
      expect(emails).toHaveLength(1);
      expect(emails[0]).toMatchObject({
        messageId,
        from: '=?UTF-8?B?Um9va2VyeSwgIkvDtmxuIg==?= <no-reply@mail.example.com>',
        destination: { to: ['ann@example.com'] },
        subject: MESSAGE.subject,
        body: { text: MESSAGE.text, html: MESSAGE.html },
      });
    });

    const DOCUMENTS = [
      ['resend', 'resend.json', 'send'],
      ['resend', 'resend.json', 'check'],
      ['sendgrid', 'sendgrid/tsg_mail_v3.json', 'send'],
      ['sendgrid', 'sendgrid/tsg_scopes_v3.json', 'check'],
    ] as const;
    for (const [id, document, operation] of DOCUMENTS) {
      const path = apiDocument(document);
      // the makers' documents lie beside a checkout, not in it: a clone alone has none
      (path === undefined ? test.skip : test)(
        `${id} is asked to ${operation} as its own description of its API says: ${document}`,
        async () => {
          const { url } = await ask('/prism', { document: path });
          await using provider = await opened(id, url as string);
          // a sample may lack what a real answer has
          await (operation === 'send' ? provider.mailer.send(MESSAGE) : provider.check()).catch(() => undefined);
          expect(provider.answers.length).toBe(1);
          const { status, headers } = provider.answers[0]!;
          expect([status >= 200 && status < 300, headers.get('sl-violations')]).toEqual([true, null]);
        },
      );
    }

    describe('signatures of delivery events', () => {
      const delivered = { kind: 'delivered', messageId: 'm1' } as const;

      test("SendGrid's verifier accepts the fixture's events, and no changed ones", async () => {
        const teller = TELLERS.sendgrid();
        const { headers, body } = teller.tell([delivered, delivered]);
        const key = teller.env['EMAIL_WEBHOOK_SECRET'];
        expect(await ask('/verify/sendgrid', { key, body, headers })).toEqual({ genuine: true });
        expect(await ask('/verify/sendgrid', { key, body: body.trim(), headers })).toMatchObject({ genuine: false });
        expect(await ask('/verify/sendgrid', { key, ...teller.tell(delivered, { wrongKey: true }) })).toMatchObject({
          genuine: false,
        });
      });

      test("the library of Standard Webhooks accepts the fixture's events of Resend, and no changed or old ones", async () => {
        const teller = TELLERS.resend();
        const secret = teller.env['EMAIL_WEBHOOK_SECRET'];
        const { headers, body } = teller.tell(delivered);
        expect(await ask('/verify/resend', { secret, body, headers })).toEqual({ genuine: true });
        expect(await ask('/verify/resend', { secret, body: `${body} `, headers })).toMatchObject({ genuine: false });
        const old = teller.tell(delivered, { at: new Date(new Date().getTime() - 301_000) });
        expect(await ask('/verify/resend', { secret, ...old })).toMatchObject({ genuine: false });
      });

      test("AWS's validator refuses certificates of other hosts, like the adapter", async () => {
        const { envelope } = ses();
        for (const place of [
          `https://evil.example${CERTIFICATE_PATH}`,
          `${SNS}.evil.example${CERTIFICATE_PATH}`,
          `http://${SNS.slice('https://'.length)}${CERTIFICATE_PATH}`,
          `${SNS}/a.txt`,
        ]) {
          const message: unknown = JSON.parse(envelope({ SigningCertURL: place }).body);
          expect([place, await ask('/verify/sns', { message })]).toMatchObject([
            place,
            { genuine: false, reason: expect.stringContaining('invalid domain') },
          ]);
        }
      });
    });
  },
);
