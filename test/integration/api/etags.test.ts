import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { routes } from '../../../api/resources/routes.gen.ts';
import { openDatabase } from '../../../src/platform/db/index.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import { counted } from '../../support/worlds/counted.ts';
import { element, openPostRoutes } from '../../support/worlds/publishing/post-routes.ts';
import { testApp, type TestApp } from '../../support/worlds/app.ts';

const world = await openPostRoutes();
const { db, app, ann, eve, key, channel, schedule, made } = world;
afterAll(world.close);

/** Lists that say by an `ETag` whether they have changed. */
const LISTS = routes.filter(({ revision }) => revision !== undefined).map(({ path }) => path);
const clientOf = (path: string) => (path.startsWith('/public/') ? key : ann.client);
const tagOf = async (path: string) => (await clientOf(path).get(path)).headers.get('etag')!;
const again = (path: string, etag: string) => clientOf(path).get(path, { 'if-none-match': etag });

test('the lists of posts, channels and files have an ETag', () => {
  expect(LISTS.toSorted()).toEqual([
    '/files',
    '/integrations/customers',
    '/media',
    '/posts',
    '/posts/list',
    '/posts/tags',
    '/public/v1/groups',
    '/public/v1/integrations',
    '/public/v1/media',
    '/public/v1/posts',
    '/public/v1/tags',
  ]);
});

describe('GET of a list', () => {
  /** A range of its own: without dates it moves on with the clock. */
  const dated = (path: string) =>
    /^(\/public\/v1)?\/posts$/.test(path) ? `${path}?startDate=2026-01-01&endDate=2026-12-31` : path;

  test.each(LISTS)('%s answers 304 without a body while nothing has changed, and 200 afterwards', async (list) => {
    const path = dated(list);
    const etag = await tagOf(path);
    expect(etag).toMatch(/^W\/"[0-9a-f]{32}"$/);
    const unchanged = await again(path, etag);
    expect([unchanged.status, unchanged.text, unchanged.headers.get('etag')]).toEqual([304, '', etag]);
    expect((await again(path, `"other", ${etag}`)).status).toBe(304);
    expect((await again(path, '"other"')).status).toBe(200);
    await made();
    const changed = await again(path, etag);
    expect([changed.status, changed.headers.get('etag') === etag]).toEqual([200, false]);
  });

  test.each(LISTS)(
    '%s has another tag for each query, and is not answered as unchanged to another organization',
    async (list) => {
      const path = dated(list);
      const separator = path.includes('?') ? '&' : '?';
      expect(await tagOf(`${path}${separator}page=1`)).not.toBe(await tagOf(path));
      const other = list.startsWith('/public/') ? await eve.withKey() : eve.client;
      expect((await other.get(path, { 'if-none-match': await tagOf(path) })).status).toBe(200);
    },
  );

  test('a list without dates is the same for a minute of the clock, and its range moves on then', async () => {
    let now = new Date('2026-09-01T10:00:10Z');
    const clock = { ...app.context.clock, now: () => now };
    await using timed: TestApp = await testApp({ sql: db.sql, clock });
    const client = timed.client();
    client.headers = { authorization: key.key };
    const etag = (await client.get('/public/v1/posts')).headers.get('etag')!;
    now = new Date('2026-09-01T10:00:59Z');
    expect((await client.get('/public/v1/posts', { 'if-none-match': etag })).status).toBe(304);
    now = new Date('2026-09-01T10:01:00Z');
    expect((await client.get('/public/v1/posts', { 'if-none-match': etag })).status).toBe(200);
  });
});

describe('changes of what lists show', () => {
  const path = '/posts?startDate=2026-01-01&endDate=2026-12-31';
  const sql = db.sql;
  let post: string;
  let doomed: string;
  let file: string;
  let tag: string;
  let campaign: string;
  let customer: string;
  beforeAll(async () => {
    [post, doomed] = [await made(), await made()];
    [file, tag, campaign, customer] = [newId(), newId(), newId(), newId()];
  });
  const changes: [what: string, change: () => Promise<unknown>][] = [
    ['a post that is inserted', () => made()],
    ['a post that is updated', () => sql`update posts set detail = 'paused' where id = ${post}`],
    ['a post that is deleted for ever', () => sql`delete from posts where id = ${doomed}`],
    [
      'a file that is inserted',
      () => sql`
        insert into files (id, org_id, name, original_name, storage_key, kind, mime, bytes)
        values (${file}, ${ann.orgId}, 'x', 'x', ${file}, 'image', 'image/png', 1)`,
    ],
    ['a file that is updated', () => sql`update files set alt = 'A bicycle' where id = ${file}`],
    ['a file that is deleted', () => sql`delete from files where id = ${file}`],
    ['a tag that is inserted', () => sql`insert into tags (id, org_id, name) values (${tag}, ${ann.orgId}, 'Tag')`],
    ['a tag that is updated', () => sql`update tags set name = 'Other' where id = ${tag}`],
    [
      'a campaign that is made of a tag',
      () => sql`insert into campaigns (id, org_id, tag_id) values (${campaign}, ${ann.orgId}, ${tag})`,
    ],
    ['a campaign that is deleted', () => sql`delete from campaigns where id = ${campaign}`],
    ['a tag that is deleted', () => sql`delete from tags where id = ${tag}`],
    [
      'a group that is inserted',
      () => sql`insert into customers (id, org_id, name) values (${customer}, ${ann.orgId}, 'Group')`,
    ],
    ['a group that is updated', () => sql`update customers set name = 'Other' where id = ${customer}`],
    ['a group that is deleted', () => sql`delete from customers where id = ${customer}`],
    ['a channel that is connected', () => world.connect(ann.orgId, 'Third')],
    ['a channel that is renamed', () => sql`update channels set name = 'Renamed' where id = ${channel}`],
    [
      'a follow-up that is inserted',
      () => sql`
        insert into post_follow_ups (id, org_id, post_id, channel_id, kind, due_at)
        values (${newId()}, ${ann.orgId}, ${post}, ${channel}, 'first_comment', now())`,
    ],
    ['a follow-up that is updated', () => sql`update post_follow_ups set state = 'done' where post_id = ${post}`],
  ];
  test.each(changes)('%s gives lists another tag, and those of no other organization', async (_, change) => {
    const etag = await tagOf(path);
    const others = (await eve.client.get(path)).headers.get('etag')!;
    await change();
    expect(await tagOf(path)).not.toBe(etag);
    expect((await eve.client.get(path)).headers.get('etag')).toBe(others);
  });

  test('a channel that takes its next post keeps the tags: nothing of it is shown', async () => {
    const etag = await tagOf(path);
    await sql`update channels set next_due_at = now(), due_version = due_version + 1 where id = ${channel}`;
    expect(await tagOf(path)).toBe(etag);
  });

  /** Columns of channels that no list shows. */
  const NOT_SHOWN = [
    'id',
    'org_id',
    'credentials',
    'refresh_reason',
    'refresh_claim',
    'refresh_until',
    'updated_at',
    'slot_incarnation',
    'slot_post_id',
    'slot_until',
    'next_due_at',
    'reminder_due_at',
    'due_version',
    'egress',
    'egress_setting_id',
    'server_limits_due_at',
    'resting_until',
    'renewal_tried_at',
    'brakes',
    'renamed',
    'expiry_told_for',
    'expiry_told_days',
  ];
  test('each column of channels is counted, or named here as one that no list shows', async () => {
    const [trigger] = await sql<{ text: string }[]>`
      select pg_get_triggerdef(oid) as text
      from pg_trigger
      where tgname = 'channels_counted_update'`;
    const columns = await sql<{ name: string }[]>`
      select column_name as name
      from information_schema.columns
      where table_name = 'channels'
        and table_schema = current_schema()`;
    const counts = (name: string) => new RegExp(`old\\.${name}\\b`).test(trigger!.text);
    expect(columns.map(({ name }) => name).filter((name) => !counts(name) && !NOT_SHOWN.includes(name))).toEqual([]);
    expect(NOT_SHOWN.filter((name) => counts(name))).toEqual([]);
  });
});

describe('the change counter', () => {
  test('is the same after the sweep has added up what ended connections have counted', async () => {
    const path = '/public/v1/groups';
    const ended = openDatabase({ url: db.url, connections: 1, connectTimeoutSeconds: 10 });
    await ended`update posts set updated_at = now() where org_id = ${ann.orgId}`;
    const [{ pid }] = (await ended`select pg_backend_pid() as pid`) as unknown as [{ pid: number }];
    await ended.end();
    const rowsOf = async () =>
      (await db.sql`select backend from change_counters where org_id = ${ann.orgId}`).map(({ backend }) => backend);
    expect(await rowsOf()).toContain(pid);
    const etag = await tagOf(path);
    const sweep = app.context.sweeps.find(({ name }) => name === 'change-counters')!;
    for (let folded = 1; folded > 0;) folded = (await sweep.run(1_000)) as number;
    const left = await rowsOf();
    expect([left.includes(pid), left.includes(0)]).toEqual([false, true]);
    expect((await again(path, etag)).status).toBe(304);
    await made(schedule({ posts: [element(channel)] }));
    expect((await again(path, etag)).status).toBe(200);
  });

  test('goes with its organization, whose rows count nothing while they are deleted', async () => {
    const bob = await app.signUp();
    await world.connect(bob.orgId, 'His');
    await db.sql`insert into tags (id, org_id, name) values (${newId()}, ${bob.orgId}, 'Tag')`;
    await db.sql`delete from organizations where id = ${bob.orgId}`;
    expect(await db.sql`select from change_counters where org_id = ${bob.orgId}`).toHaveLength(0);
  });
});

test('an unchanged list costs one statement, which reads the counter and not the list (H18)', async () => {
  const sent: string[] = [];
  const listened = openDatabase({
    url: db.url,
    connections: 2,
    connectTimeoutSeconds: 10,
    onStatement: (text) => void sent.push(text),
  });
  await using listening = await testApp({ sql: listened });
  const client = listening.client();
  client.headers = { authorization: key.key };
  for (const list of ['/public/v1/posts', '/public/v1/integrations', '/public/v1/media']) {
    const path = list.endsWith('/posts') ? `${list}?startDate=2026-01-01&endDate=2026-12-31` : list;
    const etag = (await client.get(path)).headers.get('etag')!; // the key is known from now on
    const { texts } = await counted(sent, async () => {
      expect((await client.get(path, { 'if-none-match': etag })).status).toBe(304);
    });
    const own = texts.filter((text) => !text.startsWith('update api_keys')); // its last use, written beside
    expect([own.length, own.filter((text) => !/from change_counters/.test(text))]).toEqual([1, []]);
  }
  await listened.end({ timeout: 5 });
});
