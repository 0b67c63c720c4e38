import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { channelActor } from '../../../actors/channel/contract.ts';
import { postActor } from '../../../actors/post/contract.ts';
import { newId, tenantKey } from '../../../src/platform/kernel/index.ts';
import type { SignedUp } from '../../support/worlds/app.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';
import { type ProxyServer, startProxy } from '../../support/wire/proxy-server.ts';
import { settled, stateOf } from '../../support/worlds/publishing/world.ts';
import { startReceiver } from '../../support/wire/receiver.ts';
import { formOf, picture } from '../../support/worlds/samples.ts';

// The whole product, a network on this machine and two proxies, each with an address of its own. Judged at the sockets:
// whatever calls the network from 127.0.0.1 took the open route.

const OPEN = '127.0.0.1';
const BERLIN = '127.0.0.2';
const OSLO = '127.0.0.3';
/** Connections of this process, in order: from where, and to which port. */
const made: { from: string; port: number }[] = [];
const watch = (message: unknown) => {
  const { socket } = message as { socket: Socket };
  socket.once('connect', () => made.push({ from: socket.localAddress ?? '', port: socket.remotePort ?? 0 }));
};
subscribe('net.client.socket', watch);

const stack = new AsyncDisposableStack();
let product: Product;
let ann: SignedUp;
let berlin: ProxyServer;
let oslo: ProxyServer;
const routes: Record<string, string> = {};
/** Where the network listens. */
let network: number;
/** Of a channel that was connected while the organization had chosen Berlin. */
let channelId: string;

beforeAll(async () => {
  const echo = stack.use(
    await startReceiver({ answer: (response, _, { socket }) => void response.end(socket.remoteAddress) }),
  );
  product = stack.use(await wholeProduct({ sandbox: true, env: { EGRESS_ECHO_URL: echo.url } }));
  await product.signUp(); // the super-admin
  ann = await product.signUp();
  [berlin, oslo] = [
    stack.use(await startProxy({ protocol: 'socks5', from: BERLIN })),
    stack.use(await startProxy({ protocol: 'http', from: OSLO })),
  ];
  for (const [name, protocol, { port }] of [
    ['Berlin', 'socks5', berlin],
    ['Oslo', 'http', oslo],
  ] as const) {
    const setting = {
      domain: 'vpn',
      providerId: 'custom',
      name,
      credentials: { protocol, host: '127.0.0.1', port: String(port) },
    };
    routes[name] = (await ann.client.post('/providers/settings', setting)).body.id;
  }
  await choose(routes['Berlin']!);
  channelId = await connect();
  network = Number(berlin.asked[0]!.split(' ')[2]);
}, 60_000);
afterAll(async () => {
  unsubscribe('net.client.socket', watch);
  await stack.disposeAsync();
});
beforeEach(() => {
  for (const proxy of [berlin, oslo]) {
    proxy.hears = undefined;
    proxy.back();
  }
});

const choose = async (route: string) => expect((await ann.client.put('/egress', { route })).status).toBe(200);
const chooseFor = async (channel: string, route: string) =>
  expect((await ann.client.put(`/integrations/${channel}/egress`, { route })).status).toBe(200);
async function connect(): Promise<string> {
  const { status, body } = await ann.client.post('/integrations/social-connect/sandbox', {
    fields: { name: newId() },
    allowPreview: true,
  });
  expect(status).toBe(200);
  return body.id;
}
async function publish(channel: string, image: object[] = [], settings: object = {}): Promise<string> {
  const { status, body } = await ann.client.post('/posts', {
    type: 'now',
    shortLink: false,
    date: new Date().toISOString(),
    tags: [],
    posts: [
      {
        integration: { id: channel },
        value: [{ content: '<p>Hi</p>', image }],
        settings: { __type: 'sandbox', ...settings },
      },
    ],
  });
  expect(status).toBe(201);
  return body[0].postId;
}
const state = (postId: string) => stateOf(product.db.sql, postId);
const calls = () => made.filter(({ port }) => port === network).map(({ from }) => from);
/** What the network took of a post. */
const taken = (postId: string) =>
  product.db.sql`select step from sandbox_ledger where idempotency_key = ${postId} and accepted`;

test('login, publishing and lookups of a channel use the egress route of its organization', async () => {
  const post = await publish(channelId);
  await settled(product.db.sql, ann.orgId);
  expect(await state(post)).toMatchObject({ state: 'PUBLISHED', attempt: 1 });
  expect([...new Set(calls())]).toEqual([BERLIN]);
});

test('a first comment uses the egress route of its channel', async () => {
  const post = await publish(channelId, [], { firstComment: 'First' });
  await eventually(
    'the comment is out',
    async () =>
      (await product.db.sql`select from post_follow_ups where post_id = ${post} and state = 'done'`).length > 0,
  );
  expect([...new Set(calls())]).toEqual([BERLIN]);
});

test('a lost answer is looked up over the egress route, however long that is away, and never past it', async () => {
  berlin.hears = (bytes) => (String(bytes).includes('/posts/') ? 'break' : undefined);
  const post = await publish(channelId);
  const asked = async () =>
    (await product.db.sql<{ n: number }[]>`select look_ups as n from posts where id = ${post}`)[0]!.n;
  /** In the place of the seconds until the next look-up. */
  const look = () =>
    product.context.engine.remind([
      { type: postActor.type, id: tenantKey(ann.orgId, post), name: 'look-up', due: new Date(), owner: ann.orgId },
    ]);
  await eventually('the answer is lost', async () => (await state(post)).detail === 'unconfirmed');
  for (const n of [1, 2]) {
    await look();
    await eventually(`${n} look-ups in vain`, async () => (await asked()) >= n);
  }
  expect(await state(post)).toMatchObject({ state: 'QUEUE', detail: 'unconfirmed' });
  berlin.hears = undefined;
  berlin.back();
  await look();
  await settled(product.db.sql, ann.orgId, { timeoutMs: 60_000 });
  expect(await state(post)).toMatchObject({ state: 'PUBLISHED', attempt: 1 });
  expect(await taken(post)).toHaveLength(1);
  expect([...new Set(calls())]).toEqual([BERLIN]);
}, 100_000);

test('an egress route that breaks during a publish stops it; the post is retried over the route and published once', async () => {
  const { id, path } = (await ann.client.post('/files/upload-simple', formOf(await picture(10, 10)))).body;
  let broken = 0;
  berlin.hears = (bytes) => {
    if (!String(bytes).includes('"bytes"')) return undefined;
    broken += 1;
    return 'break'; // the picture is there, the post is not
  };
  const post = await publish(channelId, [{ id, path }]);
  await eventually('the attempt ends', async () => (await state(post)).detail === 'retrying');
  expect([broken, await state(post), await taken(post)]).toEqual([
    1,
    expect.objectContaining({ state: 'QUEUE', errorKind: 'network' }),
    [],
  ]);
  expect((await ann.client.post(`/egress/${routes['Berlin']}/check`, {})).body.ok).toBe(false);
  berlin.hears = undefined;
  berlin.back();
  await product.db.sql`
    update posts set due_at = now() where id = ${post}`; // in the place of the ten seconds until it is tried again
  await product.context.actors(channelActor, tenantKey(ann.orgId, channelId)).wake({});
  await settled(product.db.sql, ann.orgId, { timeoutMs: 60_000 });
  expect([(await state(post)).state, await taken(post)]).toEqual(['PUBLISHED', [{ step: 'publish' }]]);
  expect([...new Set(calls())]).toEqual([BERLIN]);
}, 100_000);

test('the route of a channel overrides that of its organization, and the direct route is used only where it is chosen', async () => {
  const [own, open] = [await connect(), await connect()];
  await chooseFor(own, routes['Oslo']!);
  await chooseFor(open, 'open');
  const over = async (channel: string) => {
    made.length = 0;
    const post = await publish(channel);
    await settled(product.db.sql, ann.orgId);
    expect((await state(post)).state).toBe('PUBLISHED');
    return [...new Set(calls())];
  };
  berlin.breaks();
  expect(await over(own)).toEqual([OSLO]);
  expect(await over(open)).toEqual([OPEN]);
  berlin.back();
  expect(await over(channelId)).toEqual([BERLIN]);
  await choose(routes['Oslo']!);
  expect((await over(channelId)).filter((from) => from !== OSLO)).toEqual([]); // its connections may be there already
}, 60_000);

test('the sweep stores the state of the egress routes in use', async () => {
  await ann.client.put('/egress', { route: routes['Berlin'] });
  berlin.breaks();
  interface Route {
    name: string;
    health: { ok: boolean | null; exitAddress: string | null };
  }
  const healthOf = async (name: string) =>
    ((await ann.client.get('/egress')).body.routes as Route[]).find((one) => one.name === name)!.health;
  await product.db.sql`delete from egress_checks`;
  // In rounds: the sweeper makes its own, too, and what that has just taken up is not due here.
  await eventually('both are noted', async () => {
    await product.db.sql`update egress_checks set checked_at = now() - interval '1 hour'`;
    await product.db.sql`update cron_runs set last_run_at = null`;
    await product.sweeper.tick();
    return (await healthOf('Berlin')).ok === false && (await healthOf('Oslo')).ok === true;
  });
  expect((await healthOf('Oslo')).exitAddress).toBe(OSLO);
  expect((await healthOf('Berlin')).exitAddress).not.toBe(OPEN);
  expect(await product.db.sql`select last_status from cron_runs where name = 'routes'`).toEqual([
    { last_status: 'ok' },
  ]);
});
