import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import type { AnyRoute } from '../../../api/http/route.ts';
import { routes } from '../../../api/resources/routes.gen.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import type { Field } from '../../../src/providers/kit/declare/fields.ts';
import type { Answer, Client, SignedUp } from '../../support/worlds/app.ts';
import { inputSchema } from '../../support/worlds/example.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';
import { localProviders } from '../../support/worlds/providers.ts';
import { subscribedBrowser, vapidSettings } from '../../support/wire/push-service.ts';
import { startReceiver } from '../../support/wire/receiver.ts';

// Every field of the API that takes an address × every way to write one that is not public. Judged at the sockets of
// this process: whatever is not for this machine is refused beneath the product, and a connection to the listener here
// counts as reached.

const attempts: string[] = [];
const watch = (message: unknown) => {
  const { socket } = message as { socket: Socket };
  socket.on('connectionAttempt', (ip: string, port: number) => {
    if (/^(127\.|::1$)/.test(ip)) return;
    attempts.push(`${ip}:${port}`);
    socket.destroy(new Error('refused by the test'));
  });
};
subscribe('net.client.socket', watch);

const listener = await startReceiver();
const knownProviders = localProviders();
const { port } = listener;
let product: Product;
let ann: SignedUp;
let key: Client;
let channelId: string;
let webhookId: string;
let postId: string;
beforeAll(async () => {
  // An opened range that none of the addresses below is in.
  product = await wholeProduct({
    sandbox: true,
    env: {
      SSRF_ALLOWED_PRIVATE_CIDRS: '127.200.0.0/16',
      OUTBOUND_HTTP_TIMEOUT_MS: '2000',
      EGRESS_ECHO_URL: 'https://8.8.8.8/',
      ...vapidSettings(),
    },
  });
  ann = await product.signUp();
  key = await ann.withKey();
  channelId = newId(); // the sandbox itself is out of reach here, as everything on this machine
  await product.db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${channelId}, ${ann.orgId}, 'sandbox', 'v1', 'ann', 'Ann', 'v2:none')`;
  webhookId = (await ann.client.post('/webhooks', { name: 'w', url: 'https://8.8.8.8/', integrations: [] })).body.id;
  postId = (await key.post('/public/v1/posts', post({ path: 'https://8.8.8.8/a.png' }))).body[0].postId;
  expect([channelId, webhookId, postId].every((id) => typeof id === 'string')).toBe(true);
  listener.ledger.length = 0;
}, 60_000);
afterAll(async () => {
  unsubscribe('net.client.socket', watch);
  await product[Symbol.asyncDispose]();
  await listener[Symbol.asyncDispose]();
  await knownProviders[Symbol.asyncDispose]();
});

const post = (image: object) => ({
  type: 'draft',
  date: '2999-01-01T00:00:00Z',
  posts: [{ integration: { id: channelId }, value: [{ content: 'x', image: [image] }] }],
});

const HOSTS = [
  `127.0.0.1:${port}`,
  `127.1:${port}`,
  `2130706433:${port}`,
  `0x7f000001:${port}`,
  `0177.0.0.1:${port}`,
  `017700000001:${port}`,
  `127.0.0.1.:${port}`,
  `①②⑦.0.0.1:${port}`,
  `127。0。0。1:${port}`,
  `%31%32%37.0.0.1:${port}`,
  `0.0.0.0:${port}`,
  `0:${port}`,
  `localhost:${port}`,
  `LOCALHOST:${port}`,
  `localhost.:${port}`,
  `a.localhost:${port}`,
  `[::1]:${port}`,
  `[0:0:0:0:0:0:0:1]:${port}`,
  `[::]:${port}`,
  `[::ffff:127.0.0.1]:${port}`,
  `[::ffff:7f00:1]:${port}`,
  `[::127.0.0.1]:${port}`,
  `[64:ff9b::7f00:1]:${port}`,
  `[2002:7f00:1::]:${port}`,
  '10.0.0.1',
  '172.16.0.1',
  '192.168.1.1',
  '100.64.0.1',
  '169.254.1.1',
  '169.254.169.254',
  '169.254.170.2',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  '224.0.0.1',
  '255.255.255.255',
  '[fe80::1]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[fec0::1]',
  '[ff02::1]',
  '[::ffff:169.254.169.254]',
  '[64:ff9b::a9fe:a9fe]',
];
const ADDRESSES = [
  ...HOSTS.map((host) => `https://${host}/x.png`),
  `http://127.0.0.1:${port}/x.png`,
  'http://169.254.169.254/latest/meta-data/',
  `https://user:pass@127.0.0.1:${port}/`,
  `https://8.8.8.8@127.0.0.1:${port}/`,
  `https://127.0.0.1:${port}\\@8.8.8.8/`,
  `https://127.0.0.1:${port}#@8.8.8.8/`,
  `//127.0.0.1:${port}/x.png`,
  `https:/\\127.0.0.1:${port}/x.png`,
  `https:127.0.0.1:${port}/x.png`,
  `hTTps://127.0.0.1:${port}/x.png`,
  ` https://127.0.0.1:${port}/x.png`,
  `https://127.0.0.1\t:${port}/x.png`,
  'file:///etc/passwd',
  'gopher://127.0.0.1:6379/_INFO',
  'ftp://127.0.0.1/x',
  'data:text/html,x',
  'javascript:alert(1)',
  'dict://127.0.0.1:11211/stat',
];

interface Door {
  field: string;
  ask(url: string): Promise<Answer>;
  /** How an address is refused that is only not public. */
  says?: RegExp;
  /** In place of a refusal: the answer tells what came of the call. */
  answered?: 200;
}
const query = encodeURIComponent;
const OWN = 'https://8.8.8.8/a.png';
/** Pictures and thumbnails of posts and their threads, made and changed, over the console and `/public/v1`. */
const postDoors: Door[] = (['', '/public/v1'] as const).flatMap((prefix) => {
  const who = () => (prefix === '' ? ann.client : key);
  const changed = (['PUT', 'PATCH'] as const).flatMap((method) => {
    const change = (body: object) => who().send(method, `${prefix}/posts/${postId}`, body);
    return [
      { field: `${method} ${prefix}/posts/:id image.path`, ask: (path: string) => change({ image: [{ path }] }) },
      {
        field: `${method} ${prefix}/posts/:id image.thumbnail`,
        ask: (thumbnail: string) => change({ image: [{ path: OWN, thumbnail }] }),
      },
      {
        field: `${method} ${prefix}/posts/:id thread.image.path`,
        ask: (path: string) => change({ thread: [{ content: 'y', image: [{ path }] }] }),
      },
      {
        field: `${method} ${prefix}/posts/:id thread.image.thumbnail`,
        ask: (thumbnail: string) => change({ thread: [{ content: 'y', image: [{ path: OWN, thumbnail }] }] }),
      },
    ];
  });
  return [
    {
      field: `POST ${prefix}/posts posts.value.image.path`,
      ask: (path: string) => who().post(`${prefix}/posts`, post({ path })),
    },
    {
      field: `POST ${prefix}/posts posts.value.image.thumbnail`,
      ask: (thumbnail: string) => who().post(`${prefix}/posts`, post({ path: OWN, thumbnail })),
    },
    ...changed,
  ];
});
/** Where a provider is set: for the instance, or where only organizations set it. */
const settingsOf = ({ owners }: { owners: readonly string[] }): string =>
  owners.includes('instance') ? '/admin/providers/settings' : '/providers/settings';
/** Every field of every provider that takes an address, of operators and of organizations; new ones with it. */
const settingDoors: Door[] = knownProviders.list().flatMap(({ domain, id, setup }) =>
  Object.entries(setup?.fields ?? {})
    .filter(([, { form }]) => form)
    .map(([name]) => ({
      field: `POST ${settingsOf(setup!)} credentials (${domain}/${id} ${name})`,
      ask: (url: string) => {
        const group = setup!.oneOf?.find((one) => one.includes(name)) ?? setup!.oneOf?.[0] ?? [];
        const needed = Object.entries(setup!.fields).filter(
          ([other, { required }]) => required !== false || group.includes(other),
        );
        const usual = ({ form, options, validation = '.*', default: first }: Field) =>
          first ??
          options?.[0]?.value ??
          (form
            ? 'https://8.8.8.8'
            : ['abc', 'a'.repeat(64), channelId].find((one) => new RegExp(`^(?:${validation})$`).test(one)));
        const credentials = {
          ...Object.fromEntries(needed.map(([other, field]) => [other, usual(field)])),
          [name]: url,
        };
        return ann.client.post(settingsOf(setup!), {
          domain,
          providerId: id,
          credentials,
          allowPreview: true,
        });
      },
    })),
);
const doors: Door[] = [
  { field: 'POST /webhooks url', ask: (url) => ann.client.post('/webhooks', { name: 'w', url, integrations: [] }) },
  {
    field: 'PUT /webhooks url',
    ask: (url) => ann.client.put('/webhooks', { id: webhookId, name: 'w', url, integrations: [] }),
  },
  {
    field: 'POST /public/v1/webhooks url',
    ask: (url) => key.post('/public/v1/webhooks', { name: 'w', url, integrations: [] }),
  },
  {
    field: 'PUT /public/v1/webhooks url',
    ask: (url) => key.put('/public/v1/webhooks', { id: webhookId, name: 'w', url, integrations: [] }),
  },
  {
    field: 'PUT /public/v1/webhooks/:id url',
    ask: (url) => key.put(`/public/v1/webhooks/${webhookId}`, { name: 'w', url, integrations: [] }),
  },
  { field: 'POST /webhooks/send url', ask: (url) => ann.client.post('/webhooks/send', { url }), answered: 200 },
  {
    field: 'POST /webhooks/send ?url',
    ask: (url) => ann.client.post(`/webhooks/send?url=${query(url)}`),
    answered: 200,
  },
  { field: 'POST /files/upload-from-url url', ask: (url) => ann.client.post('/files/upload-from-url', { url }) },
  { field: 'POST /media/upload-from-url url', ask: (url) => ann.client.post('/media/upload-from-url', { url }) },
  { field: 'POST /public/v1/upload-from-url url', ask: (url) => key.post('/public/v1/upload-from-url', { url }) },
  // judged before anything is begun; a name is resolved when the page is read, which no provider of models is there for
  {
    field: 'POST /ai/content-pipeline url',
    ask: (url) => ann.client.post('/ai/content-pipeline', { url, channels: ['none'] }),
  },
  ...postDoors,
  {
    field: 'GET /integrations/social/:provider ?externalUrl',
    ask: (url) => ann.client.get(`/integrations/social/mastodon?externalUrl=${query(url)}`),
  },
  {
    field: 'GET /integrations/social/:provider ?externalUrl (pixelfed)',
    ask: (url) => ann.client.get(`/integrations/social/pixelfed?externalUrl=${query(url)}`),
  },
  {
    field: 'GET /public/v1/social/:provider ?externalUrl',
    ask: (url) => key.get(`/public/v1/social/mastodon?externalUrl=${query(url)}`),
    says: /not allowed/,
  },
  {
    field: 'POST /integrations/social-connect/:provider fields',
    ask: (service) =>
      ann.client.post('/integrations/social-connect/bluesky', {
        fields: { service, identifier: 'ann', password: 'x' },
      }),
  },
  {
    field: 'POST /notifications/push-tokens token',
    ask: (endpoint) => {
      const { keys } = JSON.parse(subscribedBrowser('https://push.example.com/').token);
      const token = JSON.stringify({ endpoint, keys });
      return ann.client.post('/notifications/push-tokens', { token, platform: 'web' });
    },
    says: /Blocked URL|PushSubscription/, // of another form it is no subscription
  },
  ...settingDoors,
];

describe('fields with an address that users set', () => {
  test.each(doors)(
    'a private address in $field is never called [OB1, OB3, X1]',
    async ({ ask, says = /Blocked URL/, answered }) => {
      attempts.length = 0;
      listener.ledger.length = 0;
      const connections = listener.connections;
      const taken: string[] = [];
      for (let n = 0; n < ADDRESSES.length; n += 8) {
        const some = ADDRESSES.slice(n, n + 8);
        const answers = await Promise.all(some.map(ask));
        for (const [at, { status, text }] of answers.entries()) {
          const literal = HOSTS.some((host) => some[at] === `https://${host}/x.png`);
          if (!(answered ? [200, 400] : [400, 502]).includes(status) || (literal && !says.test(text)))
            taken.push(`${some[at]}: ${status} ${text.slice(0, 200)}`);
        }
      }
      expect(taken).toEqual([]);
      expect([attempts, listener.ledger.length, listener.connections - connections]).toEqual([[], 0, 0]);
    },
  );
});

describe('a proxy set by an organization', () => {
  const places = [
    '127.0.0.1',
    'localhost',
    'a.localhost',
    '0',
    '2130706433',
    '0x7f000001',
    '0.0.0.0',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[64:ff9b::7f00:1]',
  ];
  const far = ['10.0.0.1', '169.254.169.254', '168.63.129.16', '[fd00:ec2::254]', '[fe80::1]'];
  test.each(['socks5', 'http', 'https', 'wireguard'])(
    'a private address of a proxy by %s is never called [OB1, OB3, X1]',
    async (protocol) => {
      attempts.length = listener.ledger.length = 0;
      const connections = listener.connections;
      const ask = (host: string) =>
        ann.client.post('/providers/settings/test', {
          domain: 'vpn',
          providerId: 'custom',
          credentials:
            protocol === 'wireguard'
              ? { protocol, sidecar: `${host}:${port}` }
              : { protocol, host, port: String(port) },
        });
      for (const host of [...places, ...far]) {
        const { status, body } = await ask(host);
        expect([host, status, body.ok, body.message]).toEqual([
          host,
          200,
          false,
          expect.stringMatching(/may not be called|has no address/),
        ]);
      }
      expect([attempts, listener.ledger.length, listener.connections - connections]).toEqual([[], 0, 0]);
    },
  );
});

describe('schema fields that look like addresses', () => {
  const LOOKS =
    /(url|uri|link|href|picture|image|thumbnail|path|endpoint|host|server|issuer|domain|website|avatar|icon|logo)s?$/i;
  const named = (route: AnyRoute): string[] => {
    // oxlint-disable-next-line typescript/no-explicit-any -- JSON Schema as zod writes it
    const inside = (schema: Record<string, any>, at: string): string[] => [
      ...Object.entries((schema['properties'] ?? {}) as Record<string, object>).flatMap(([name, inner]) => [
        ...(LOOKS.test(name) &&
        JSON.stringify(inner).includes('"string"') &&
        !JSON.stringify(inner).includes('"properties"')
          ? [`${at}${name}`]
          : []),
        ...inside(inner, `${at}${name}.`),
      ]),
      ...(schema['items'] ? inside(schema['items'] as object, at) : []),
      ...[...(schema['anyOf'] ?? []), ...(schema['oneOf'] ?? []), ...(schema['allOf'] ?? [])].flatMap((one: object) =>
        inside(one, at),
      ),
    ];
    return [
      ...new Set([
        ...(route.body ? inside(inputSchema(route.body as never), '') : []),
        ...(route.query ? inside(inputSchema(route.query as never), '?') : []),
      ]),
    ];
  };
  /** Never called by this service, each with its reason. */
  const NOT_CALLED: readonly [RegExp, string][] = [
    [/ \??(redirect_uris?|redirectUrl|returnUrl)$/, 'browsers are sent there; compared with what was registered'],
    [/^POST \/oauth\/register (client_uri|logo_uri)$/, 'shown on the page of consent, never fetched'],
    [/^POST \/integrations\/:id\/nickname picture$/, 'shown by browsers'],
    [/^POST \/(files|media)\/information thumbnail$/, 'names a file of the library'],
    [/ \??(providers\.)?domain$/, 'a kind of provider'],
    [/ shortlink$/, 'ask, yes or no'],
    [/ \/brand-kits(\/:id)? logos$/, 'ids of files of the library'],
    [/^POST (\/public\/v1)?\/posts\/(preflight|valid) /, 'judged as in create, which is tested above, and not stored'],
    [/^POST \/notifications\/broadcast link$/, 'a path of the console'],
  ];

  test('each one is tested above or listed as never called [OB1]', () => {
    const known = new Set(doors.map(({ field }) => field.replace(/ \(.*\)$/, '')));
    const missing = routes
      .flatMap((route) => named(route).map((field) => `${route.method.toUpperCase()} ${route.path} ${field}`))
      .filter((field) => !known.has(field) && !NOT_CALLED.some(([pattern]) => pattern.test(field)));
    expect(missing).toEqual([]);
  });
});
