import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AnyRoute } from '../../../api/http/route.ts';
import { routes } from '../../../api/resources/routes.gen.ts';
import { newId, sha256 } from '../../../src/platform/kernel/index.ts';
import type { SignedUp } from '../../support/worlds/app.ts';
import { example, inputSchema } from '../../support/worlds/example.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';

// Generated from the declarations, over the whole product: every route that takes an id × ids of another organization.

let product: Product;
let db: Product['db'];
let ann: SignedUp;
let eve: SignedUp;
let eveKey: Awaited<ReturnType<SignedUp['withKey']>>;
/** Rows of Ann's organization. */
const hers: Record<string, string> = {};
/** Of a calendar feed of Eve's, as a query. */
let feedToken = '';

beforeAll(async () => {
  product = await wholeProduct();
  db = product.db;
  await product.signUp();
  ann = await product.signUp();
  eve = await product.signUp();
  eveKey = await eve.withKey();

  const [session] = await db.sql`select id from sessions where user_id = ${ann.userId}`;
  await ann.withKey();
  const [key] = await db.sql`select id from api_keys where user_id = ${ann.userId}`;
  Object.assign(hers, {
    session: session!['id'],
    key: key!['id'],
    channel: newId(),
    file: newId(),
    post: newId(),
    webhook: newId(),
    delivery: newId(),
  });
  await db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${hers['channel']!}, ${ann.orgId}, 'sandbox', 'v1', 'canary', 'Canary',
      ${product.context.vault.seal('{"values":{}}')})`;
  await db.sql`
    insert into files (id, org_id, name, original_name, storage_key, kind, mime, bytes)
    values (${hers['file']!}, ${ann.orgId}, 'canary.png', 'canary.png', 'canary/canary.png', 'image', 'image/png', 1)`;
  await db.sql`
    insert into posts (id, org_id, channel_id, group_id, state, detail, content, publish_date, due_at, content_clean)
    values (${hers['post']!}, ${ann.orgId}, ${hers['channel']!}, 'canary-group', 'QUEUE', 'scheduled', 'Canary',
      now() + interval '1 day', now() + interval '1 day', true)`;
  // the sweeps of the product find nothing of hers to do meanwhile
  await db.sql`
    insert into comment_sweeps (channel_id, org_id, next_run_at)
    values (${hers['channel']!}, ${ann.orgId}, now() + interval '1 day')`;
  await db.sql`
    insert into webhooks (id, org_id, name, url)
    values (${hers['webhook']!}, ${ann.orgId}, 'Canary', 'https://example.com/')`;
  await db.sql`
    insert into webhook_deliveries (id, org_id, webhook_id, seq, event, body, state)
    values (${hers['delivery']!}, ${ann.orgId}, ${hers['webhook']!}, 1, 'ping', '{}', 'succeeded')`;
  Object.assign(hers, { member: ann.userId, role: newId(), invitation: newId() });
  await db.sql`
    insert into roles (id, org_id, name, permissions)
    values (${hers['role']!}, ${ann.orgId}, 'Canary', '{posts:read}')`;
  await db.sql`
    insert into invitations (id, org_id, email, role_key, token_hash, invited_by)
    values (${hers['invitation']!}, ${ann.orgId}, 'canary@example.com', ${hers['role']!}, ${sha256('canary')},
      ${ann.userId})`;
  hers['checkout'] = newId();
  await db.sql`
    insert into payment_checkouts (id, org_id, user_id, item, period)
    values (${hers['checkout']}, ${ann.orgId}, ${ann.userId}, 'PRO', 'MONTHLY')`;
  hers['choice'] = newId();
  await db.sql`
    insert into channel_choices (id, org_id, user_id, provider_id, provider_version, credentials, expires_at)
    values (${hers['choice']}, ${ann.orgId}, ${ann.userId}, 'gmb', 'v1',
      ${product.context.vault.seal('{"values":{}}')}, now() + interval '1 day')`;
  hers['plug'] = newId();
  await db.sql`
    insert into plug_configurations (id, org_id, channel_id, plug_function, fields)
    values (${hers['plug']}, ${ann.orgId}, ${hers['channel']!}, 'sandbox-auto-comment', '[]')`;
  hers['comment'] = newId();
  await db.sql`
    insert into social_comments (id, org_id, channel_id, post_id, external_id, content, author_id, author_name, is_own,
      created_at)
    values (${hers['comment']}, ${ann.orgId}, ${hers['channel']!}, ${hers['post']!}, 'canary', 'Canary', 'canary',
      'Canary', false, now())`;
  hers['approval'] = newId();
  hers['app'] = newId();
  await db.sql`
    insert into oauth_clients (id, org_id, client_id, secret_hash, name, redirect_uris, scope)
    values (${hers['app']}, ${ann.orgId}, 'pca_canary', ${sha256('canary')}, 'Canary', '{https://canary.example/}',
      '{mcp:read}')`;
  hers['setting'] = newId();
  await db.sql`
    insert into provider_settings (id, org_id, domain, provider_id, provider_version, name, credentials)
    values (${hers['setting']}, ${ann.orgId}, 'email', 'smtp', 'v1', 'Canary', ${product.context.vault.seal('{}')})`;
  hers['route'] = newId();
  await db.sql`
    insert into provider_settings (id, org_id, domain, provider_id, provider_version, name, credentials)
    values (${hers['route']}, ${ann.orgId}, 'vpn', 'custom', 'v1', 'Canary', ${product.context.vault.seal('{}')})`;
  Object.assign(hers, { tag: newId(), plan: newId() });
  await db.sql`insert into tags (id, org_id, name) values (${hers['tag']!}, ${ann.orgId}, 'Canary')`;
  await db.sql`insert into post_plans (id, org_id, items) values (${hers['plan']!}, ${ann.orgId}, '[]')`;
  Object.assign(hers, { campaign: newId(), kit: newId(), competitor: newId() });
  await db.sql`
    insert into campaigns (id, org_id, tag_id) values (${hers['campaign']!}, ${ann.orgId}, ${hers['tag']!})`;
  await db.sql`insert into brand_kits (id, org_id, name) values (${hers['kit']!}, ${ann.orgId}, 'Canary')`;
  await db.sql`
    insert into competitors (id, org_id, provider_id, handle, next_read_at)
    values (${hers['competitor']!}, ${ann.orgId}, 'bluesky', 'canary.example', now() + interval '1 day')`;
  hers['job'] = newId();
  await db.sql`
    insert into media_jobs (id, org_id, operation, provider_id, provider_version, own_setting, request, input_hash,
      reservation, is_export, state, ended_at)
    values (${hers['job']}, ${ann.orgId}, 'image', 'replicate', 'v1', true, '{}', '', ${newId()}, false, 'unknown',
      now())`;
  await db.sql`
    insert into calendar_feeds (channel_id, user_id, org_id, token_hash)
    values (${hers['channel']!}, ${ann.userId}, ${ann.orgId}, ${sha256('canary feed')})`;
  const own = newId();
  await db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${own}, ${eve.orgId}, 'sandbox', 'v1', 'own', 'Own', ${product.context.vault.seal('{"values":{}}')})`;
  feedToken = new URL((await eve.client.post(`/integrations/${own}/calendar-token`, {})).body.url).search;
  Object.assign(hers, { org: ann.orgId, proposal: newId() });
  await db.sql`
    insert into proposals (id, org_id, content, content_hash)
    values (${hers['proposal']!}, ${ann.orgId}, '{"socialPost": []}', 'canary')`;
  hers['session-of-designer'] = newId();
  await db.sql`
    insert into runs (id, org_id, kind, state, is_active, input, output)
    values (${hers['session-of-designer']}, ${ann.orgId}, 'designer', 'awaiting_plan', false, '{"prompt": "Canary"}', null)`;
  hers['pipeline'] = newId();
  await db.sql`
    insert into runs (id, org_id, user_id, kind, state, is_active, input)
    values (${hers['pipeline']}, ${ann.orgId}, ${ann.userId}, 'content-pipeline', 'running', true, '{}')`;
  hers['notification'] = newId();
  await db.sql`
    insert into notifications (id, org_id, user_id, source, category, title, content)
    values (${hers['notification']}, ${ann.orgId}, ${ann.userId}, 'canary', 'storage', 'Canary', 'Canary')`;
  await db.sql`
    insert into oauth_authorizations (id, org_id, user_id, app_id, scope)
    values (${hers['approval']}, ${ann.orgId}, ${ann.userId}, ${hers['app']}, '{mcp:read}')`;
}, 60_000);
afterAll(() => product[Symbol.asyncDispose]());

/** Whose id a path takes. A route with an id that matches nothing here has no case, which is a failure. */
const OWNERS: [RegExp, string][] = [
  [/^\/billing\/check\/:/, 'checkout'],
  [/^\/collaboration\/:/, 'post'],
  [/^\/user\/sessions\/:/, 'session'],
  [/^\/(user|members)\/api-keys\/:/, 'key'],
  [/^\/user\/approved-apps\/:/, 'approval'],
  [/^\/(members|settings\/team)\/:/, 'member'],
  [/^\/members\/invitations\/:/, 'invitation'],
  [/^\/roles\/:/, 'role'],
  [/^\/providers\/settings\/:/, 'setting'],
  [/^\/egress\/:/, 'route'],
  [/^\/integrations\/provider\/:/, 'choice'],
  [/^\/integrations\/plugs\/:/, 'plug'],
  [/(^|\/v1|\/posts)\/(integrations|integration-settings|integration-trigger|find-slot|channels)\/:/, 'channel'],
  [/(^|\/v1)\/analytics\/((channels|best-times)\/)?:/, 'channel'],
  [/(^|\/v1)\/analytics\/post\/:/, 'post'],
  [/(^|\/v1)\/(files|media)\/:/, 'file'],
  [/(^|\/v1)\/(files|media)\/jobs\/:id/, 'job'],
  [/^\/notifications\/:/, 'notification'],
  [/(^|\/v1)\/posts\/:/, 'post'],
  [/(^|\/v1)\/posts\/bulk\/:/, 'plan'],
  [/^\/posts\/tags\/:/, 'tag'],
  [/^\/comments\/:/, 'comment'],
  [/^\/campaigns\/:/, 'campaign'],
  [/^\/brand-kits\/:/, 'kit'],
  [/^\/competitors\/:/, 'competitor'],
  [/^\/(mcp|sse|message)\/:/, 'org'],
  [/^\/ai\/designer\/sessions\/:/, 'session-of-designer'],
  [/^\/proposals\/:/, 'proposal'],
  [/^\/ai\/content-pipeline\/:/, 'pipeline'],
  [/(^|\/v1)\/webhooks\/(test-ping\/)?:/, 'webhook'],
];
const ownerOf = ({ path }: AnyRoute): string | undefined => OWNERS.find(([pattern]) => pattern.test(path))?.[1];
// who may see every organization
const isAdmins = ({ auth }: AnyRoute): boolean => auth.length === 1 && auth[0] === 'super-admin';
const takesIds = (route: AnyRoute): boolean => /:(id|\w+Id)\b/.test(route.path) && !isAdmins(route);
/** Further values that a body needs before the id is looked at. */
const BODIES: Record<string, object> = {
  ...Object.fromEntries(
    ['/files', '/media', '/public/v1/media'].map((prefix) => [
      `POST ${prefix}/:id/transform`,
      { operation: 'convert', params: { type: 'png' } },
    ]),
  ),
  'POST /posts/:id/reject': { reason: 'no' },
  'POST /proposals/:id/reject': { reason: 'no' },
  'POST /proposals/:id/accept': { date: '2999-01-01T00:00:00Z' },
  'PUT /posts/:id/date': { date: '2999-01-01T00:00:00Z' },
  'POST /integrations/provider/:id/connect': { page: 'p1' },
  'PUT /integrations/:id/group': { group: null },
  'PUT /integrations/:id/egress': { route: 'open' },
  'POST /integrations/:id/settings': { additionalSettings: '[]' },
  'POST /comments/:id/reply': { content: 'x' },
  'PATCH /comments/:id': { done: true },
  'POST /ai/designer/sessions/:id/messages': { content: 'x' },
};

/** A page that nobody has is no error to whoever comes back from it (S64). */
const NOTHING: Record<string, unknown> = { 'GET /billing/check/:id': { status: 0 } };

const withIds = routes.filter(takesIds);
const cases = withIds.map((route): [string, AnyRoute] => [`${route.method.toUpperCase()} ${route.path}`, route]);

const ask = (route: AnyRoute, id: string) => {
  const path = route.path.replace(/:(\w+)/g, (_, name: string) =>
    name === 'id' || name.endsWith('Id') ? id : name === 'room' ? `post:${id}` : 'something',
  );
  const body =
    route.method === 'get' || route.input === 'stream'
      ? undefined
      : {
          ...(route.body ? (example(inputSchema(route.body as never)) as object) : {}),
          ...BODIES[`${route.method.toUpperCase()} ${route.path}`],
        };
  const query = route.path.endsWith('/calendar.ics') ? feedToken : '';
  return (route.auth.includes('session') ? eve.client : eveKey).send(route.method.toUpperCase(), path + query, body);
};
const fingerprint = async () => {
  const tables = await Promise.all([
    db.sql`select email, password_hash, is_super_admin, activated from users where id = ${ann.userId}`,
    db.sql`select id, token_hash, revoked_at from sessions where user_id = ${ann.userId}`,
    db.sql`select id, name, key_hash, expires_at, revoked_at from api_keys where org_id = ${ann.orgId}`,
    db.sql`select name, timezone, settings, egress_setting_id, deleted_at from organizations where id = ${ann.orgId}`,
    db.sql`select user_id, role_key, disabled from memberships where org_id = ${ann.orgId}`,
    db.sql`select * from roles where org_id = ${ann.orgId}`,
    db.sql`select * from invitations where org_id = ${ann.orgId}`,
    db.sql`select * from channels where org_id = ${ann.orgId}`,
    db.sql`select * from channel_choices where org_id = ${ann.orgId}`,
    db.sql`select * from plug_configurations where org_id = ${ann.orgId}`,
    db.sql`select * from files where org_id = ${ann.orgId}`,
    db.sql`select * from posts where org_id = ${ann.orgId}`,
    db.sql`select * from post_timeline where org_id = ${ann.orgId}`,
    db.sql`select * from post_notes where org_id = ${ann.orgId}`,
    db.sql`select * from social_comments where org_id = ${ann.orgId}`,
    db.sql`select * from comment_sweeps where org_id = ${ann.orgId}`,
    db.sql`select * from post_follow_ups where org_id = ${ann.orgId}`,
    db.sql`select * from calendar_feeds where org_id = ${ann.orgId}`,
    db.sql`select * from collaboration_documents where org_id = ${ann.orgId}`,
    db.sql`select * from collaboration_versions where org_id = ${ann.orgId}`,
    db.sql`select * from post_plans where org_id = ${ann.orgId}`,
    db.sql`select * from tags where org_id = ${ann.orgId}`,
    db.sql`select * from campaigns where org_id = ${ann.orgId}`,
    db.sql`select * from brand_kits where org_id = ${ann.orgId}`,
    db.sql`select * from competitors where org_id = ${ann.orgId}`,
    db.sql`select * from webhooks where org_id = ${ann.orgId}`,
    db.sql`select * from webhook_deliveries where org_id = ${ann.orgId}`,
    db.sql`select * from webhook_attempts where org_id = ${ann.orgId}`,
    db.sql`select * from oauth_clients where org_id = ${ann.orgId}`,
    db.sql`select * from provider_settings where org_id = ${ann.orgId}`,
    db.sql`select * from notifications where org_id = ${ann.orgId}`,
    db.sql`select * from media_jobs where org_id = ${ann.orgId}`,
    db.sql`select * from media_transforms where org_id = ${ann.orgId}`,
    db.sql`select * from egress_checks where org_id = ${ann.orgId} or setting_id = ${hers['route']!}`,
    db.sql`select * from oauth_authorizations where org_id = ${ann.orgId}`,
    db.sql`select * from proposals where org_id = ${ann.orgId}`,
    db.sql`select * from runs where org_id = ${ann.orgId}`,
    db.sql`select * from run_steps where org_id = ${ann.orgId}`,
    db.sql`select * from run_events where org_id = ${ann.orgId}`,
  ]);
  return tables.map((rows) => JSON.stringify(rows));
};

test('every route with an id has a case, and there are enough of them', () => {
  expect(withIds.filter((route) => ownerOf(route) === undefined).map(({ path }) => path)).toEqual([]);
  expect(withIds.length).toBeGreaterThanOrEqual(10);
});

describe('ids of another organization', () => {
  test.each(cases)(
    '%s answers a foreign, an unknown and an impossible id alike, by 404, and nothing changes [S9, GN2, GN5, X11]',
    async (name, route) => {
      const before = await fingerprint();
      const answers = [];
      for (const id of [
        hers[ownerOf(route)!]!,
        newId(),
        'impossible',
        '%27%20or%201=1',
        hers['channel']!.toUpperCase(),
      ])
        answers.push(await ask(route, id));
      const [foreign] = answers;
      expect(NOTHING[name] ? foreign!.body : [foreign!.status, foreign!.body.code]).toEqual(
        NOTHING[name] ?? [404, 'not_found'],
      );
      for (const { text } of answers) expect(text).toBe(foreign!.text);
      expect(await fingerprint()).toEqual(before);
    },
  );
  test.each(
    routes
      .filter((route) => isAdmins(route))
      .map((route): [string, AnyRoute] => [`${route.method.toUpperCase()} ${route.path}`, route]),
  )('%s is for super-admins: an owner gets no information, whatever the id [S9, PV18]', async (_, route) => {
    const before = await fingerprint();
    for (const id of [ann.orgId, ann.userId, newId(), 'impossible']) {
      const { status, body } = await eve.client.send(
        route.method.toUpperCase(),
        route.path.replace(/:\w+/g, id),
        route.method === 'get' ? undefined : {},
      );
      expect([status, body.code]).toEqual([403, 'super_admin_required']);
    }
    expect(await fingerprint()).toEqual(before);
  });
  /** Ids that stand in a body: what is made or changed would point to a row of another organization. */
  const InBodies: [string, () => object, string][] = [
    [`PUT /members/eve`, () => ({ roleId: hers['role'] }), 'roleId'],
    ['PUT /members/eve', () => ({ role: hers['role'] }), 'role'],
    ['POST /members/invitations', () => ({ email: 'someone@example.com', roleId: hers['role'] }), 'roleId'],
    ['POST /settings/team', () => ({ email: 'someone@example.com', role: hers['role'] }), 'role'],
    ['POST /orgs/current/transfer', () => ({ userId: ann.userId }), 'userId'],
    ['PUT /egress', () => ({ route: hers['route'] }), 'route'],
    ['PUT /user/personal', () => ({ pictureId: hers['file'] }), 'pictureId'],
    [
      'POST /user/oauth-app',
      () => ({ name: 'App', redirectUrl: 'https://example.com/', pictureId: hers['file'] }),
      'pictureId',
    ],
    [
      'POST /webhooks',
      () => ({ name: 'Hook', url: 'https://example.com/', integrations: [{ id: hers['channel'] }] }),
      'integrations.0.id',
    ],
  ];
  test.each(InBodies)(
    '%s refuses an id of another organization in its body by the field, and nothing changes [S269, S9, X11]',
    async (name, body, field) => {
      const before = await fingerprint();
      const [method, path] = name.replace('eve', eve.userId).split(' ') as [string, string];
      const answers = [];
      for (const replaced of [undefined, newId()]) {
        const text = JSON.stringify(body());
        const foreign = Object.values(hers).find((id) => text.includes(id)) ?? ann.userId;
        answers.push(
          await eve.client.send(
            method,
            path,
            replaced === undefined ? body() : JSON.parse(text.replace(foreign, replaced)),
          ),
        );
      }
      const [foreign, unknown] = answers;
      expect([foreign!.status, foreign!.body.errors[0].field]).toEqual([400, field]);
      expect(unknown!.text).toBe(foreign!.text);
      expect(await fingerprint()).toEqual(before);
    },
  );
  test.each([
    ['POST', '/user/change-org'],
    ['POST', '/user/leave-org'],
  ])('%s %s does not open another organization [S9, S44, X11]', async (method, path) => {
    const before = await fingerprint();
    const [foreign, unknown] = [
      await eve.client.send(method, path, { id: ann.orgId }),
      await eve.client.send(method, path, { id: newId() }),
    ];
    expect([foreign.status, foreign.text]).toEqual([404, unknown.text]);
    expect(await fingerprint()).toEqual(before);
  });

  test('the owner gets other answers: the rows exist', async () => {
    expect((await ann.client.get(`/integrations/${hers['channel']}`)).status).toBe(200);
    expect((await ann.client.get(`/files/${hers['file']}`)).status).toBe(200);
  });
  test.each(
    routes
      .filter(
        ({ method, path, auth }) =>
          method === 'get' && !path.includes(':') && (auth.includes('session') || auth.includes('api-key')),
      )
      .map((route): [string, AnyRoute] => [route.path, route]),
  )('GET %s shows nothing of another organization [GN2, S9]', async (path, route) => {
    const { text } = await (route.auth.includes('session') ? eve.client : eveKey).get(path);
    for (const value of ['Canary', 'canary', ann.orgId, ann.userId, ann.email, ...Object.values(hers)])
      expect(text).not.toContain(value);
  });
});
