import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { emptyAuditLog } from '../../support/worlds/audit.ts';
import type { SignedUp } from '../../support/worlds/app.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';
import { type ProxyServer, startProxy } from '../../support/wire/proxy-server.ts';
import { startReceiver } from '../../support/wire/receiver.ts';

const stack = new AsyncDisposableStack();
let product: Product;
let proxy: ProxyServer;
let admin: SignedUp;
let ann: SignedUp;
let eve: SignedUp;
/** Ann's channels. */
let first: string;
let second: string;
beforeAll(async () => {
  const echo = stack.use(
    await startReceiver({ answer: (response, _, { socket }) => void response.end(socket.remoteAddress) }),
  );
  proxy = stack.use(await startProxy({ protocol: 'socks5' }));
  product = stack.use(await wholeProduct({ env: { EGRESS_ECHO_URL: `http://127.0.0.1:${echo.port}/` } }));
  await product.db.sql`
    insert into leases (name, holder, expires_at)
    values ('sweeper', 'nobody', 'infinity')`; // so that routes are checked only when that is asked for
  admin = await product.signUp(); // the first: a super-admin
  ann = await product.signUp();
  eve = await product.signUp();
  [first, second] = [await channelOf(ann), await channelOf(ann)];
}, 60_000);
afterAll(() => stack.disposeAsync());
beforeEach(async () => {
  proxy.back();
  await product.db.sql`update organizations set egress_setting_id = null`;
  await product.db.sql`update channels set egress = 'org', egress_setting_id = null`;
  await product.db.sql`delete from provider_settings where domain = 'vpn'`;
  await emptyAuditLog(product.db.sql);
});

async function channelOf({ orgId }: SignedUp): Promise<string> {
  const id = newId();
  await product.db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${id}, ${orgId}, 'sandbox', 'v1', ${id}, 'Channel', ${product.context.vault.seal('{"values":{}}')})`;
  return id;
}
const setting = (more: object = {}) => ({
  domain: 'vpn',
  providerId: 'custom',
  name: 'Berlin',
  credentials: { host: '127.0.0.1', port: String(proxy.port), password: 'a-secret-of-the-proxy', username: 'ann' },
  ...more,
});
async function made({ client }: SignedUp, path = '/providers/settings', more: object = {}): Promise<string> {
  const { status, body } = await client.post(path, setting(more));
  expect([status, body.id]).toEqual([201, expect.any(String)]);
  return body.id;
}
const plain = () => ({ credentials: { host: '127.0.0.1', port: String(proxy.port) } });
const choose = ({ client }: SignedUp, route: unknown) => client.put('/egress', { route });
const chooseFor = ({ client }: SignedUp, channel: string, route: unknown) =>
  client.put(`/integrations/${channel}/egress`, { route });
const choices = async () => {
  const { route, channels } = (await ann.client.get('/egress')).body;
  return [route, ...channels.map((one: { route: string; effective: string }) => [one.route, one.effective])];
};
const noted = async () => [
  ...(await product.db.sql`
    select org_id as "orgId", user_id as "userId", action, resource, resource_id as "resourceId", detail
    from audit_log
    where action like '%route_chosen'
    order by id`),
];

describe('egress route settings', () => {
  test('list the routes of the organization and the instance without secrets; at first none is chosen', async () => {
    const ofAll = await made(admin, '/admin/providers/settings', { name: 'Everybody’s' });
    const own = await made(ann);
    await made(eve, undefined, { name: 'Hidden' });
    const unknown = { ok: null, exitAddress: null, message: '', latencyMs: null, checkedAt: null, failingSince: null };
    const { status, body, text } = await ann.client.get('/egress');
    expect([status, body]).toEqual([
      200,
      {
        route: 'open',
        routes: [
          { id: own, name: 'Berlin', providerId: 'custom', owner: 'org', enabled: true, health: unknown },
          { id: ofAll, name: 'Everybody’s', providerId: 'custom', owner: 'instance', enabled: true, health: unknown },
        ],
        channels: [first, second].map((id) => ({ id, route: 'org', effective: 'open' })),
      },
    ]);
    expect(text).not.toMatch(/secret|password|127\.0\.0\.1/);
  });

  test('a channel inherits the choice of its organization until it has its own, and again after clearing it; each choice is audited', async () => {
    const [berlin, oslo] = [await made(ann), await made(ann, undefined, { name: 'Oslo' })];
    const answer = await choose(ann, berlin);
    expect([answer.status, answer.body]).toEqual([200, (await ann.client.get('/egress')).body]);
    expect(await choices()).toEqual([berlin, ['org', berlin], ['org', berlin]]);

    expect((await chooseFor(ann, first, oslo)).body).toEqual({ success: true });
    expect((await chooseFor(ann, second, 'open')).body).toEqual({ success: true });
    expect(await choices()).toEqual([berlin, [oslo, oslo], ['open', 'open']]);

    await chooseFor(ann, first, 'org');
    await choose(ann, 'open');
    expect(await choices()).toEqual(['open', ['org', 'open'], ['open', 'open']]);

    const of = (action: string, resource: string, resourceId: string, route: string) => ({
      orgId: ann.orgId,
      userId: ann.userId,
      action,
      resource,
      resourceId,
      detail: { route },
    });
    expect(await noted()).toEqual([
      of('organization.route_chosen', 'settings', ann.orgId, berlin),
      of('channel.route_chosen', 'channels', first, oslo),
      of('channel.route_chosen', 'channels', second, 'open'),
      of('channel.route_chosen', 'channels', first, 'org'),
      of('organization.route_chosen', 'settings', ann.orgId, 'open'),
    ]);
  });

  test('refuse by field what is no route of the organization, alike for foreign and unknown ids, and change and audit nothing [S269]', async () => {
    const foreign = await made(eve);
    const [mail] = await product.db.sql`
      insert into provider_settings (id, org_id, domain, provider_id, provider_version, name, credentials)
      values (${newId()}, ${ann.orgId}, 'email', 'smtp', 'v1', 'Mail', ${product.context.vault.seal('{}')})
      returning id`;
    const answers = [];
    for (const id of [foreign, newId(), mail!['id'], 'impossible', "' or 1=1"])
      answers.push(await choose(ann, id), await chooseFor(ann, first, id));
    answers.push(await chooseFor(eve, first, newId()));
    for (const { status, body, text } of answers)
      expect([status, body.errors[0].field, text]).toEqual([400, 'route', answers[0]!.text]);
    for (const odd of ['', 'x'.repeat(65), null, 7, undefined])
      for (const { status, body } of [await choose(ann, odd), await chooseFor(ann, first, odd)])
        expect([status, body.errors[0].field]).toEqual([400, 'route']);
    const org = await choose(ann, 'org'); // there is nothing above the organization
    expect([org.status, org.body.errors[0].field]).toEqual([400, 'route']);
    expect([await choices(), await noted()]).toEqual([['open', ['org', 'open'], ['org', 'open']], []]);
  });

  test('answer 404 alike to a foreign, an unknown, a malformed and a deleted channel, and leave them unchanged [S9]', async () => {
    const own = await made(eve);
    const deleted = await channelOf(eve);
    await product.db.sql`update channels set deleted_at = now() where id = ${deleted}`;
    for (const route of ['open', own]) {
      const answers = [];
      for (const id of [first, newId(), 'impossible', deleted]) answers.push(await chooseFor(eve, id, route));
      for (const { status, text } of answers) expect([status, text]).toEqual([404, answers[0]!.text]);
    }
    expect([await choices(), await noted()]).toEqual([['open', ['org', 'open'], ['org', 'open']], []]);
  });

  test('answer 409 to deleting a route in use by an organization or a channel, and delete it once it is unused', async () => {
    const own = await made(ann);
    const ofAll = await made(admin, '/admin/providers/settings');
    const remove = async () => [
      (await ann.client.delete(`/providers/settings/${own}`)).body?.code,
      (await admin.client.delete(`/admin/providers/settings/${ofAll}`)).body?.code,
    ];
    await choose(ann, ofAll);
    await chooseFor(ann, first, own);
    expect([await remove(), await choices()]).toEqual([
      ['conflict', 'conflict'],
      [ofAll, [own, own], ['org', ofAll]],
    ]);
    expect((await ann.client.delete(`/providers/settings/${own}`)).status).toBe(409);
    await choose(ann, 'open');
    await chooseFor(ann, first, 'org');
    await remove();
    expect((await ann.client.get('/egress')).body.routes).toEqual([]);
  });
});

test('a viewer sees routes and locations and changes nothing; an editor cannot choose for the organization [S52]', async () => {
  const route = await made(ann);
  const asked = async (role: string) => {
    await product.db
      .sql`update memberships set role_key = ${role} where org_id = ${ann.orgId} and user_id = ${ann.userId}`;
    const answers = [
      await ann.client.get('/egress'),
      await ann.client.get(`/egress/${route}/places`),
      await choose(ann, 'open'),
      await chooseFor(ann, first, 'open'),
      await ann.client.post(`/egress/${route}/check`, {}),
    ];
    return answers.map(({ status }) => status);
  };
  await product.db
    .sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${admin.userId}, 'owner')`;
  try {
    expect(await asked('viewer')).toEqual([200, 200, 403, 403, 403]);
    expect(await asked('editor')).toEqual([200, 200, 403, 200, 200]);
    expect(await asked('admin')).toEqual([200, 200, 200, 200, 200]);
  } finally {
    await product.db
      .sql`update memberships set role_key = 'owner' where org_id = ${ann.orgId} and user_id = ${ann.userId}`;
    await product.db.sql`delete from memberships where org_id = ${ann.orgId} and user_id = ${admin.userId}`;
  }
});

describe('egress route checks and locations', () => {
  const check = async ({ client }: SignedUp, id: string) => (await client.post(`/egress/${id}/check`, {})).body;

  test('a check reports the exit of a route, or the error and its first time; both are stored', async () => {
    const route = await made(ann, undefined, plain());
    const good = await check(ann, route);
    expect(good).toEqual({
      ok: true,
      exitAddress: '127.0.0.2',
      message: 'Comes out at 127.0.0.2',
      latencyMs: expect.any(Number),
      checkedAt: expect.any(String),
      failingSince: null,
    });
    proxy.breaks();
    const bad = await check(ann, route);
    expect(bad).toMatchObject({
      ok: false,
      exitAddress: '127.0.0.2',
      message: expect.stringContaining('Berlin'),
      failingSince: expect.any(String),
    });
    expect((await check(ann, route)).failingSince).toBe(bad.failingSince);
    expect((await ann.client.get('/egress')).body.routes[0].health).toMatchObject({
      ok: false,
      failingSince: bad.failingSince,
    });
    proxy.back();
    expect(await check(ann, route)).toMatchObject({ ok: true, failingSince: null });
    await ann.client.put(`/providers/settings/${route}`, { enabled: false });
    expect(await check(ann, route)).toMatchObject({
      ok: false,
      message: 'The route “Berlin” cannot be used: it is disabled',
    });
  });

  test('the result of one organization on a route of the instance is hidden from another', async () => {
    const ofAll = await made(admin, '/admin/providers/settings', plain());
    expect((await check(ann, ofAll)).ok).toBe(true);
    expect((await eve.client.get('/egress')).body.routes[0].health.checkedAt).toBe(null);
  });

  test('locations are those listed by the provider, and none where it lists none', async () => {
    const { status, body } = await ann.client.get(`/egress/${await made(ann)}/places`);
    expect([status, body]).toEqual([200, []]);
    const nord = await made(ann, undefined, {
      providerId: 'nordvpn',
      credentials: { serviceUsername: 'ann', servicePassword: 'a-secret' },
    });
    const listed = await ann.client.get(`/egress/${nord}/places`);
    expect([listed.status, listed.body[0]]).toEqual([200, { id: 'nl', name: 'Netherlands', country: 'NL' }]);
  });

  test('answer 404 alike to foreign, unknown and malformed ids, and call nobody [S9]', async () => {
    const foreign = await made(ann, undefined, plain());
    const before = proxy.accepted;
    for (const ask of [
      (id: string) => eve.client.post(`/egress/${id}/check`, {}),
      (id: string) => eve.client.get(`/egress/${id}/places`),
    ]) {
      const answers = [await ask(foreign), await ask(newId()), await ask('impossible')];
      for (const { status, text } of answers) expect([status, text]).toEqual([404, answers[0]!.text]);
    }
    expect([proxy.accepted, (await product.db.sql`select from egress_checks`).length]).toEqual([before, 0]);
  });
});
