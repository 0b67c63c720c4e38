import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { nextSlot } from '../../../src/insights/competitors/rules.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import { sealCredentials } from '../../../src/publishing/channels/credentials.ts';
import { type SignedUp, testApp } from '../../support/worlds/app.ts';
import { subscribe, WITH_BILLING } from '../../support/worlds/billing.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { startReceiver } from '../../support/wire/receiver.ts';

// The networks are one server, which notes what it is asked.

const asked: { path: string; authorization: string | undefined }[] = [];
let answer: (path: string) => { status?: number; json: unknown } = () => ({ status: 404, json: {} });

let server: Awaited<ReturnType<typeof startReceiver>>;
let db: TestDatabase;
let app: Awaited<ReturnType<typeof testApp>>;
let ann: SignedUp;
let eve: SignedUp;
beforeAll(async () => {
  server = await startReceiver({
    answer(response, { path, headers }) {
      asked.push({ path, authorization: headers.authorization });
      const { status = 200, json } = answer(path);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
    },
  });
  db = await testDatabase();
  app = await testApp({
    sql: db.sql,
    env: WITH_BILLING,
    servers: Object.fromEntries(
      ['mastodon', 'bluesky', 'youtube', 'x'].map((id) => [`social/${id}`, `${server.url}/${id}`]),
    ),
  });
  ann = await app.signUp();
  eve = await app.signUp();
}, 60_000);
afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  asked.length = 0;
  answer = () => ({ status: 404, json: {} });
  await db.sql`delete from competitors`;
  await db.sql`delete from channels`;
  await db.sql`delete from provider_settings`;
  for (const { orgId } of [ann, eve]) await subscribe(db.sql, orgId, { tier: 'AGENCY' });
});

const watch = (body: object, { client } = ann) => client.post('/competitors', body);
async function watched(body: object = { providerIdentifier: 'mastodon', handle: '@bob@social.example' }, who = ann) {
  const { status, body: made, text } = await watch(body, who);
  expect([text, status]).toEqual([text, 201]);
  return made as { id: string };
}
const read = async ({ id }: { id: string }) => (await ann.client.get(`/competitors/${id}`)).body;
const sweep = () => app.context.sweeps.find(({ name }) => name === 'competitors')!.run(500);
const due = () => db.sql`update competitors set next_read_at = now()`;
const dueAt = async ({ id }: { id: string }) =>
  (await db.sql<{ at: Date }[]>`select next_read_at as at from competitors where id = ${id}`)[0]!.at;
async function channel(providerId: string, more: object = {}) {
  const id = newId();
  const credentials = sealCredentials(app.context.vault, {
    account: 'UC1',
    values: {},
    tokens: { accessToken: `token-of-${id}`, values: { channel: 'UC1' } },
    grantedAt: new Date(),
  });
  const row = { id, org_id: ann.orgId, provider_id: providerId, provider_version: 'v1', internal_id: id, name: 'c' };
  await db.sql`insert into channels ${db.sql({ ...row, credentials, ...more })}`;
  return id;
}

const bob = { id: '7', username: 'bob', display_name: 'Bob', avatar: 'https://files.example/b.png' };
const counts = (followers: number, posts: number) => ({ followers_count: followers, statuses_count: posts });

describe('competitors', () => {
  test('are watched, read, listed, renamed and deleted [S189]', async () => {
    const made = await watched({ providerIdentifier: 'mastodon', handle: 'Bob@Social.example' });
    expect(made).toEqual({
      id: expect.any(String),
      providerIdentifier: 'mastodon',
      handle: '@bob@social.example',
      name: '@bob@social.example',
      picture: null,
      lastSnapshotAt: null,
      metrics: {},
      error: null,
    });
    const other = await watched({ providerIdentifier: 'bluesky', handle: '@Eve.test', name: 'Eve' });
    expect(other).toMatchObject({ handle: 'eve.test', name: 'Eve' });
    const first = (await ann.client.get('/competitors?limit=1')).body;
    expect(first).toEqual({ items: [other], nextCursor: other.id });
    expect((await ann.client.get(`/competitors?limit=1&cursor=${other.id}`)).body).toEqual({
      items: [made],
      nextCursor: null,
    });
    expect((await eve.client.get('/competitors')).body.items).toEqual([]);
    expect((await ann.client.put(`/competitors/${made.id}`, { name: 'The bakery' })).body.name).toBe('The bakery');
    expect((await ann.client.send('PATCH', `/competitors/${made.id}`, { name: null })).body).toEqual(made);
    expect((await ann.client.send('PATCH', `/competitors/${made.id}`, {})).body).toEqual(made);
    expect((await ann.client.delete(`/competitors/${made.id}`)).body).toEqual({ id: made.id });
    expect((await ann.client.get(`/competitors/${made.id}`)).status).toBe(404);
    expect(asked).toEqual([]);
  });

  test('take the body of their contract, as long as the account stays the same [S189]', async () => {
    const { id } = await watched({ providerIdentifier: 'mastodon', handle: '@cat@social.example' });
    const change = (body: object) => ann.client.put(`/competitors/${id}`, body);
    const whole = { providerIdentifier: 'mastodon', handle: 'CAT@SOCIAL.EXAMPLE', name: 'Cat' };
    expect(await change(whole)).toMatchObject({ status: 200, body: { name: 'Cat', handle: '@cat@social.example' } });
    for (const [field, value] of [
      ['providerIdentifier', 'pixelfed'],
      ['handle', '@dog@social.example'],
      ['handle', 'dog'],
    ] as const)
      expect(await change({ ...whole, [field]: value })).toMatchObject({
        status: 400,
        body: { errors: [{ field, rule: 'immutable' }] },
      });
    expect((await ann.client.delete(`/competitors/${id}`)).status).toBe(200);
  });

  test('are watched once in an organization, however the handle is written [S189]', async () => {
    const [one, two] = [' @bob@social.example ', 'BOB@SOCIAL.EXAMPLE'];
    await watched({ providerIdentifier: 'mastodon', handle: one });
    expect(await watch({ providerIdentifier: 'mastodon', handle: two })).toMatchObject({
      status: 409,
      body: { code: 'conflict', errors: [{ field: 'handle' }] },
    });
    await watched({ providerIdentifier: 'pixelfed', handle: one });
    await watched({ providerIdentifier: 'mastodon', handle: one }, eve);
  });

  test.each([
    ['providerIdentifier', { providerIdentifier: 'tiktok', handle: '@bob' }],
    ['providerIdentifier', { providerIdentifier: 'nothing', handle: '@bob' }],
    ['handle', { providerIdentifier: 'mastodon', handle: '@bob' }],
    ['handle', { providerIdentifier: 'bluesky', handle: 'bob' }],
    ['handle', { providerIdentifier: 'bluesky', handle: '' }],
    ['handle', { providerIdentifier: 'lemmy', handle: '#birds@lemmy.example' }],
    ['name', { providerIdentifier: 'bluesky', handle: 'bob.test', name: '' }],
    ['url', { providerIdentifier: 'bluesky', handle: 'bob.test', url: 'https://x.example' }],
  ])('name the field %s that is wrong [S189, S6]', async (field, body) => {
    const { status, body: refusal } = await watch(body);
    expect([status, refusal.errors[0].field]).toEqual([400, field]);
  });

  test.each(['127.0.0.2', '10.0.0.1', '169.254.169.254'])(
    'on a server at %s are refused before anybody is asked [S189, OB1]',
    async (host) => {
      const { status, body } = await watch({ providerIdentifier: 'mastodon', handle: `@bob@${host}` });
      expect([status, body.code, body.errors[0].field]).toEqual([400, 'blocked_url', 'handle']);
      expect(asked).toEqual([]);
    },
  );
});

describe('the sweep of competitors', () => {
  test('reads them at once, and then once a day at the time of the organization, with a day of history [S189]', async () => {
    const one = await watched();
    answer = () => ({ json: { ...bob, ...counts(12, 40) } });
    await sweep();
    expect(asked).toEqual([{ path: '/mastodon/v1/accounts/lookup?acct=bob', authorization: undefined }]);
    const first = await read(one);
    expect(first).toMatchObject({
      name: 'Bob',
      picture: 'https://files.example/b.png',
      metrics: { followers: 12, posts: 40 },
      lastSnapshotAt: expect.any(String),
      error: null,
    });
    expect(await dueAt(one)).toEqual(nextSlot(ann.orgId, new Date(first.lastSnapshotAt)));
    await sweep();
    expect(asked).toHaveLength(1);

    await db.sql`update competitor_snapshots set day = day - 1`;
    await due();
    answer = () => ({ json: { ...bob, ...counts(13, -1), display_name: '' } });
    await sweep();
    expect(await read(one)).toMatchObject({ name: 'bob', metrics: { followers: 13 } });
    const days = (await ann.client.get(`/competitors/${one.id}/history`)).body;
    expect(days).toEqual([
      { date: expect.any(String), metrics: { followers: 12, posts: 40 } },
      { date: expect.any(String), metrics: { followers: 13 } },
    ]);
    const [older, newer] = days as [{ date: string }, { date: string }];
    const between = async (query: string) => (await ann.client.get(`/competitors/${one.id}/history?${query}`)).body;
    expect(await between(`from=${newer.date}`)).toEqual([newer]);
    expect(await between(`to=${older.date}`)).toEqual([older]);
    expect((await ann.client.get(`/competitors/${one.id}/history?from=${newer.date}&to=${older.date}`)).status).toBe(
      400,
    );
    expect((await ann.client.get(`/competitors/${one.id}/history?from=today`)).status).toBe(400);
    expect((await eve.client.get(`/competitors/${one.id}/history`)).status).toBe(404);
  });

  test('keeps a name in one line, without marks that turn what stands around it [S189]', async () => {
    const one = await watched();
    answer = () => ({ json: { ...bob, ...counts(1, 2), display_name: 'Bob\u202E\u0000\n plays' } });
    await sweep();
    expect(await read(one)).toMatchObject({ name: 'Bob plays', error: null });
    answer = () => ({ json: { ...bob, ...counts(1, 2), display_name: '\u202E' } });
    await due();
    await sweep();
    expect(await read(one)).toMatchObject({ name: '@bob@social.example', error: null });
  });

  test('shows no history that the plan does not show, until it does [S189]', async () => {
    const one = await watched();
    await db.sql`
      insert into competitor_snapshots (competitor_id, day, org_id, metrics)
      select ${one.id}, (now() at time zone 'UTC')::date - n, ${ann.orgId}, '{"followers":1}'
      from unnest('{170,190}'::int[]) n`;
    const shown = async () => (await ann.client.get(`/competitors/${one.id}/history?from=2020-01-01`)).body.length;
    await subscribe(db.sql, ann.orgId, { tier: 'STARTER' });
    expect(await shown()).toBe(1);
    await subscribe(db.sql, ann.orgId, { tier: 'PRO' });
    expect(await shown()).toBe(2);
  });

  test.each([
    ['to', 'to=0000-01-01'], // which Postgres does not know
    ['from', 'from=0000-01-01'],
    ['from', 'from=2026-02-30'],
    ['to', 'from=2026-02-02&to=2026-02-01'],
  ])('names the field %s of a history of %s [S189, S6]', async (field, query) => {
    const { status, body } = await ann.client.get(`/competitors/${(await watched()).id}/history?${query}`);
    expect([status, body.errors?.[0]?.field]).toEqual([400, field]);
  });

  test('tries again in an hour three times, then the next day, and says why; others are read [S189]', async () => {
    const one = await watched();
    const other = await watched({ providerIdentifier: 'bluesky', handle: 'eve.test' });
    answer = (path) =>
      path.startsWith('/mastodon')
        ? { status: 503, json: { error: 'away' } }
        : { json: { did: 'did:plc:eve', handle: 'eve.test', followersCount: 3, postsCount: 4 } };
    await sweep();
    expect(await read(other)).toMatchObject({ name: 'eve.test', metrics: { followers: 3, posts: 4 }, error: null });
    for (let tries = 1; tries <= 4; tries += 1) {
      const [row] = await db.sql<{ isHour: boolean; error: string }[]>`
        select next_read_at between now() + interval '55 minutes' and now() + interval '61 minutes' as "isHour", error
        from competitors
        where id = ${one.id}`;
      expect([tries, row!.error]).toEqual([tries, expect.stringContaining('Mastodon')]);
      if (tries < 4) expect(row!.isHour).toBe(true);
      else expect(await dueAt(one)).toEqual(nextSlot(ann.orgId, new Date()));
      await db.sql`update competitors set next_read_at = now() where id = ${one.id}`;
      if (tries < 4) await sweep();
    }
    answer = () => ({ json: { ...bob, ...counts(1, 2) } });
    await sweep();
    expect(await read(one)).toMatchObject({ metrics: { followers: 1, posts: 2 }, error: null });
  });

  test('keeps what it knows of an account that is gone, and says so [S189]', async () => {
    const one = await watched();
    answer = () => ({ json: { ...bob, ...counts(12, 40) } });
    await sweep();
    answer = () => ({ status: 404, json: { error: 'Record not found' } });
    await due();
    await sweep();
    expect(await read(one)).toMatchObject({
      metrics: { followers: 12, posts: 40 },
      error: 'The network has nobody of this handle',
    });
  });

  test('reads each account once when two processes sweep, and none of an organization that is removed or disabled [S189]', async () => {
    answer = () => ({ json: { ...bob, ...counts(1, 1) } });
    for (let n = 0; n < 15; n += 1)
      await watched({ providerIdentifier: 'mastodon', handle: `@bob${n}@social.example` });
    await watched({ providerIdentifier: 'mastodon', handle: '@eve@social.example' }, eve);
    await db.sql`update organizations set deleted_at = now() where id = ${eve.orgId}`;
    while ((await Promise.all([sweep(), sweep()])).some((done) => done >= 500));
    await db.sql`update organizations set deleted_at = null, disabled_at = now() where id = ${eve.orgId}`;
    await db.sql`update competitors set next_read_at = now() where org_id = ${eve.orgId}`;
    await sweep();
    await db.sql`update organizations set disabled_at = null where id = ${eve.orgId}`;
    expect(asked.map(({ path }) => path).toSorted()).toEqual(
      Array.from({ length: 15 }, (_, n) => `/mastodon/v1/accounts/lookup?acct=bob${n}`).toSorted(),
    );
  });

  test('asks networks that show accounts to their own by the login of a channel that works [S189]', async () => {
    const wish = { providerIdentifier: 'youtube', handle: '@BobPlays' };
    const refusal = { status: 400, body: { errors: [{ field: 'providerIdentifier', rule: 'no_channel' }] } };
    expect(await watch(wish)).toMatchObject(refusal);
    await channel('youtube', { disabled: true });
    expect(await watch(wish)).toMatchObject(refusal);
    const id = await channel('youtube');
    const one = await watched(wish);
    const item = {
      id: 'UC9',
      snippet: { title: 'Bob plays' },
      statistics: { subscriberCount: '5', videoCount: '2', viewCount: '9' },
    };
    answer = () => ({ json: { kind: 'x', items: [item] } });
    await sweep();
    expect(asked).toEqual([
      {
        path: '/youtube/youtube/v3/channels?part=snippet%2Cstatistics&forHandle=%40bobplays',
        authorization: `Bearer token-of-${id}`,
      },
    ]);
    expect(await read(one)).toMatchObject({ name: 'Bob plays', metrics: { followers: 5, posts: 2, views: 9 } });
    await db.sql`update channels set deleted_at = now()`;
    await due();
    await sweep();
    expect([asked.length, (await read(one)).error]).toEqual([1, expect.stringContaining('connect a channel first')]);
  });

  test('asks X only where the organization has said that it may cost [S189]', async () => {
    await channel('x');
    const wish = { providerIdentifier: 'x', handle: '@bob' };
    const refusal = { status: 400, body: { errors: [{ field: 'providerIdentifier', rule: 'not_allowed' }] } };
    const setting = { domain: 'social', providerId: 'x', credentials: { clientId: 'id', clientSecret: 'secret' } };
    expect(await watch(wish)).toMatchObject(refusal);
    const own = await ann.client.post('/providers/settings', setting);
    expect(own.status).toBe(201);
    expect(await watch(wish)).toMatchObject(refusal);
    const agreed = await ann.client.put(`/providers/settings/${own.body.id}`, { options: { competitors: 'true' } });
    expect([agreed.status, agreed.body.options]).toEqual([200, { clientId: 'id', competitors: 'true' }]);
    expect(
      (await ann.client.put(`/providers/settings/${own.body.id}`, { options: { competitors: 'yes' } })).status,
    ).toBe(400);
    const one = await watched(wish);
    answer = () => ({
      json: { data: { id: '9', name: 'Bob', username: 'bob', public_metrics: { followers_count: 8, tweet_count: 3 } } },
    });
    await sweep();
    expect(asked.map(({ path }) => path)).toEqual([
      '/x/users/by/username/bob?user.fields=profile_image_url%2Cpublic_metrics',
    ]);
    expect(await read(one)).toMatchObject({ name: 'Bob', metrics: { followers: 8, posts: 3 } });
    await ann.client.put(`/providers/settings/${own.body.id}`, { options: { competitors: null } });
    await due();
    await sweep();
    expect([asked.length, (await read(one)).error]).toEqual([1, expect.stringContaining('charges for each account')]);
  });
});

describe('the limit of competitors', () => {
  let n = 0;
  const create = () => watch({ providerIdentifier: 'mastodon', handle: `@c${(n += 1)}@social.example` });
  const flood = async () => {
    const answers = await Promise.all(Array.from({ length: 100 }, create));
    for (const { body } of answers.filter(({ status }) => status !== 201))
      expect(body).toMatchObject({ code: 'limit_exceeded', limit: 'competitors' });
    return answers.filter(({ status }) => status === 201).length;
  };

  test('is exact under 100 creates at once, counts rows and is never reset [LM17, S189, S5]', async () => {
    await subscribe(db.sql, ann.orgId, { tier: 'PRO' });
    expect(await flood()).toBe(5);
    await db.sql`update competitors set created_at = now() - interval '400 days'`;
    expect(await create()).toMatchObject({
      status: 402,
      body: { message: 'Plan limit reached: competitors (5)', max: 5, url: expect.stringMatching(/\/billing$/) },
    });
    expect((await ann.client.get('/billing')).body.limits.competitors).toMatchObject({ effective: 5, used: 5 });
    const [first] = (await ann.client.get('/competitors')).body.items;
    await ann.client.delete(`/competitors/${first.id}`);
    expect([(await create()).status, (await create()).status]).toEqual([201, 402]);
  });

  test('is raised by packs, exactly [AD8, LM17]', async () => {
    await subscribe(db.sql, ann.orgId, { tier: 'STARTER', packs: { extra_competitors: 1 } });
    expect(await flood()).toBe(11);
  });
});
