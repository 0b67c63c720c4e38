import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { COLUMN_CLASSES, PERSONAL_COLUMNS } from '../../../src/operations/erasure/columns.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import { Client, testApp, type TestApp, WITH_MAIL } from '../../support/worlds/app.ts';
import { WITH_BILLING } from '../../support/worlds/billing.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { ADDRESS, CAME_FROM, placesOf, tracedPerson, WORD } from '../../support/worlds/erasure/traced-person.ts';

// Erasure by an operator: what goes, what stays without a name, and what the receipt says of it.

let db: TestDatabase;
let app: TestApp;
let traced: Awaited<ReturnType<typeof tracedPerson>>;
beforeEach(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql, env: { ...WITH_MAIL, TRUST_PROXY_HOPS: '1' } });
  traced = await tracedPerson(app);
  await db.sql`update users set is_super_admin = true where email = 'boss@example.com'`;
});
afterEach(async () => {
  await app?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
});

const erase = (body: object, client: Client = traced.boss) =>
  client.post('/admin/erasure', { reason: 'asked', ...body });
const all = async () =>
  Object.fromEntries(
    await Promise.all(
      Object.keys(COLUMN_CLASSES).map(async (name) => {
        const [row] = await db.sql<{ n: number; digest: string | null }[]>`
          select count(*)::int as n, md5(string_agg(t::text, '|' order by t::text)) as digest
          from ${db.sql(name)} t`;
        return [name, row] as const;
      }),
    ),
  );
/** Writes what a member leaves beside what the account holds; answers the post. */
async function leaveMore(): Promise<string> {
  const { sql } = db;
  const { userId, orgId } = traced;
  const [channelId, postId, device] = [newId(), newId(), newId()];
  await sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${channelId}, ${orgId}, 'sandbox', 'v1', 'x', 'x', 'v2:')`;
  await sql`
    insert into posts (id, org_id, channel_id, group_id, state, content, publish_date, created_by)
    values (${postId}, ${orgId}, ${channelId}, 'g', 'DRAFT', 'Hello', now(), ${userId})`;
  await sql`insert into post_notes (id, org_id, post_id, user_id, content) values (${newId()}, ${orgId}, ${postId}, ${userId}, 'n')`;
  await sql`
    insert into notifications (id, org_id, user_id, source, category, title, content)
    values (${newId()}, ${orgId}, ${userId}, 's', 'storage', 't', 'c')`;
  await sql`
    insert into push_tokens (id, user_id, session_id, token, token_hash, platform, device_name)
    select ${device}, user_id, id, ${WORD}, ${Buffer.from('x')}, 'ios', ${`Phone of ${WORD}`}
    from sessions
    where user_id = ${userId}
    limit 1`;
  await sql`insert into pushes (id, token_id, category, title, content) values (${newId()}, ${device}, 'storage', 't', 'c')`;
  await sql`
    insert into invitations (id, org_id, email, role_key, token_hash, invited_by)
    select ${newId()}, ${orgId}, ${ADDRESS.toUpperCase()}, 'viewer', ${Buffer.from('y')}, id
    from users
    where email = 'boss@example.com'`;
  await sql`
    insert into errors (incarnation, room, message, detail)
    values ('i', 'email', 'a mail failed', ${sql.json({ to: ADDRESS })})`;
  await sql`
    insert into ai_ledger (org_id, ref, kind, domain, provider_id, user_id, micros, day)
    values (${orgId}, ${newId()}, 'settlement', 'ai', 'openai', ${userId}, 1234, now()::date)`;
  const asked = { showorg: orgId, 'idempotency-key': 'theirs' };
  expect((await traced.me.post('/posts/tags', { name: 'Ours', color: '#112233' }, asked)).status).toBe(201);
  await sql`
    insert into audit_log (org_id, user_id, action, resource, resource_id, detail)
    values (${orgId}, null, 'member.changed', 'members', ${userId}, ${sql.json({ to: [userId] })})`;
  return postId;
}

describe('POST /admin/erasure of a user', () => {
  test('takes the person out of every table, and leaves what they made [S43]', async () => {
    const postId = await leaveMore();
    const before = [...(await placesOf(db.sql, ADDRESS)), ...(await placesOf(db.sql, WORD))];
    for (const place of ['users.email', 'errors.detail', 'invitations.email', 'push_tokens.device_name'])
      expect(before).toContain(place);
    expect(await placesOf(db.sql, traced.userId)).toContain('idempotency_keys.scope');
    const { status, body } = await erase({ userId: traced.userId });
    expect([status, body.kind, body.state]).toEqual([200, 'user', 'done']);
    expect(body.deleted.idempotency_keys).toBe(1);
    expect(await placesOf(db.sql, ADDRESS)).toEqual([]);
    expect(await placesOf(db.sql, CAME_FROM)).toEqual([]);
    // mails to the earlier address and to somebody invited, until the log of mails forgets them
    expect(await placesOf(db.sql, WORD)).toEqual(['emails.to_address']);
    expect(await placesOf(db.sql, traced.userId)).toEqual(['ai_ledger.user_id', 'posts.created_by', 'tags.created_by']); // ids of nobody
    expect(await db.sql`select content from posts where id = ${postId}`).toEqual([{ content: 'Hello' }]);
    expect(await db.sql`select user_id from post_notes`).toEqual([{ user_id: null }]);
    expect(await db.sql`select sum(micros)::int as sum from ai_ledger`).toEqual([{ sum: 1234 }]);
    expect((await traced.me.get('/user/self')).status).toBe(401);
  });

  test('keeps the entries of the audit log without saying who acted', async () => {
    await leaveMore();
    const notes = () => db.sql<{ action: string }[]>`
      select action
      from audit_log
      where org_id is null or org_id = ${traced.orgId}
      order by id`;
    const before = await notes();
    const { body } = await erase({ userId: traced.userId });
    const after = await notes();
    expect(after.slice(0, before.length)).toEqual(before);
    expect(body.anonymized.audit_log).toBeGreaterThan(5);
    const nobody = '00000000-0000-0000-0000-000000000000';
    const [changed] = await db.sql`select resource_id, detail from audit_log where action = 'member.changed'`;
    expect(changed).toEqual({ resource_id: nobody, detail: { to: [nobody] } });
    expect((await db.sql`select from audit_log where user_id = ${nobody} and ip is not null`).count).toBe(0);
    expect(await db.sql`select resource_id, detail from audit_log where action = 'user.erased'`).toEqual([
      { resource_id: body.id, detail: { reason: 'asked' } },
    ]);
  });

  test('counts in a dry run what it erases then, and changes nothing', async () => {
    await leaveMore();
    const before = await all();
    const dry = await erase({ userId: traced.userId, dryRun: true });
    expect([dry.status, dry.body.state, dry.body.id]).toEqual([200, 'dry_run', null]);
    expect({ ...(await all()), sessions: 0, memberships: 0, users: 0 }).toEqual({
      ...before,
      sessions: 0, // their last use is written behind requests
      memberships: 0,
      users: 0,
    });
    const tables = ['users', 'user_profiles', 'organizations', 'emails', 'push_tokens', 'pushes', 'invitations'];
    for (const name of tables) expect([name, dry.body.deleted[name]]).toEqual([name, expect.any(Number)]);
    const counts = async () => Object.fromEntries(Object.entries(await all()).map(([name, row]) => [name, row!.n]));
    const there = await counts();
    const { body } = await erase({ userId: traced.userId });
    expect({ ...body, id: null, state: 'dry_run', createdAt: null }).toEqual(dry.body);
    const left = await counts();
    for (const [name, n] of Object.entries(body.deleted as Record<string, number>))
      if (name in left && name !== 'audit_log') expect([name, there[name]! - left[name]!]).toEqual([name, n]);
  });

  test('repeated, also at the same time, answers the same receipt, which names nobody', async () => {
    const answers = await Promise.all([0, 1, 2].map(() => erase({ userId: traced.userId })));
    answers.push(await erase({ userId: traced.userId }));
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.id}`)).size).toBe(1);
    const receipts = await db.sql`select to_jsonb(e)::text as text from erasures e`;
    expect(receipts).toHaveLength(1);
    expect(receipts[0]!['text']).not.toMatch(new RegExp(`${traced.userId}|${WORD}`));
  });

  test('erases somebody again whom a backup brought back', async () => {
    const { body } = await erase({ userId: traced.userId });
    await db.sql`
      insert into users (id, email, provider_name, provider_id, activated, deleted_at)
      values (${traced.userId}, ${ADDRESS}, 'local', 'x', true, now())`;
    const again = await erase({ userId: traced.userId });
    expect([again.status, again.body.id, again.body.deleted.users]).toEqual([200, body.id, 1]);
    expect(await placesOf(db.sql, ADDRESS)).toEqual([]);
  });

  test('is refused for the last owner of others and for the last super-admin [S43]', async () => {
    const [{ id: bossId }] = (await db.sql`select id from users where email = 'boss@example.com'`) as [{ id: string }];
    for (const dryRun of [true, false])
      expect(await erase({ userId: bossId, dryRun })).toMatchObject({
        status: 409,
        body: { code: 'conflict', message: expect.stringMatching(/^The last owner/) },
      });
    await db.sql`delete from memberships where user_id = ${traced.userId} and org_id = ${traced.orgId}`;
    expect(await erase({ userId: bossId })).toMatchObject({
      status: 409,
      body: { code: 'conflict', message: expect.stringMatching(/^The last super-admin/) },
    });
    expect((await db.sql`select from erasures`).count).toBe(0);
  });

  test('answers what is missing, unknown or not theirs to ask', async () => {
    const CASES: readonly [object, number][] = [
      [{}, 400],
      [{ userId: newId(), orgId: newId() }, 400],
      [{ userId: 'nobody' }, 404],
      [{ userId: newId() }, 404],
      [{ orgId: newId(), dryRun: true }, 404],
      [{ userId: newId(), reason: ' ' }, 400],
      [{ userId: newId(), reason: 'x'.repeat(501) }, 400],
      [{ userId: newId(), really: true }, 400],
    ];
    for (const [body, status] of CASES) expect([body, (await erase(body)).status]).toEqual([body, status]);
    expect((await erase({ userId: traced.userId }, traced.me)).status).toBe(403);
  });
});

describe('POST /admin/erasure of an organization', () => {
  const rowsOf = async (orgId: string) => {
    const tables = await db.sql<{ name: string }[]>`
      select table_name as name
      from information_schema.columns
      where column_name = 'org_id'
        and table_schema = current_schema()
        and table_name <> 'media_pending_deletions'`;
    const found: string[] = [];
    for (const { name } of tables)
      if ((await db.sql`select from ${db.sql(name)} where org_id = ${orgId}`).count > 0) found.push(name);
    return found;
  };
  const file = (key: string, own: boolean) => db.sql`
    insert into files (id, org_id, name, original_name, storage_id, storage_key, own_storage, kind, mime, bytes)
    values (${newId()}, ${traced.orgId}, 'a', 'a', ${own ? 's3' : 'local'}, ${key}, ${own}, 'image', 'image/png', 1)`;

  test('takes all its rows and queues its files; those in a storage of its own are named [S44]', async () => {
    await leaveMore();
    await file('a/1.png', false);
    await file('a/2.png', true);
    await db.sql`
      insert into actor_reminders (type, id, name, due_at, version)
      values ('Organization', ${traced.orgId}, 'transition', now() + interval '1 day', ${newId()}),
        ('Channel', ${`${traced.orgId}:${newId()}`}, 'due', now() + interval '1 day', ${newId()}),
        ('Channel', ${`${newId()}:${newId()}`}, 'due', now() + interval '1 day', ${newId()})`;
    await db.sql`
      insert into outbox_refused (listener, id, org_id, topic, entity_id, payload, created_at, error)
      values ('webhooks', 1, ${traced.orgId}, 'post.published', ${newId()}, '{}', now(), 'e')`;
    const dry = await erase({ orgId: traced.orgId, dryRun: true });
    expect(dry.body).toMatchObject({
      state: 'dry_run',
      deleted: { organizations: 1, posts: 1, channels: 1, files: 2 },
      objects: { removed: 1, kept: { s3: 1 } },
    });
    expect((await rowsOf(traced.orgId)).length).toBeGreaterThan(5);
    const { body } = await erase({ orgId: traced.orgId });
    expect([body.state, body.deleted.posts, body.objects]).toEqual(['done', 1, { removed: 1, kept: { s3: 1 } }]);
    expect(await rowsOf(traced.orgId)).toEqual([]);
    expect((await db.sql`select from organizations where id = ${traced.orgId}`).count).toBe(0);
    expect((await db.sql`select from actor_reminders`).count).toBe(1);
    expect((await db.sql`select from media_pending_deletions where org_id = ${traced.orgId}`).count).toBe(2);
    expect((await traced.boss.get('/user/self')).status).toBe(200); // in an organization of their own
    const again = await erase({ orgId: traced.orgId });
    expect([again.body.id, again.body.state]).toEqual([body.id, 'done']);
  });

  test('takes one with very many rows some at a time, by the sweep [S44]', async () => {
    await leaveMore();
    await db.sql`
      insert into analytics_days (org_id, channel_id, metric, date, value)
      select c.org_id, c.id, 'views', date '1980-01-01' + n, n
      from channels c, generate_series(1, 11000) n
      where c.org_id = ${traced.orgId}`;
    const { body } = await erase({ orgId: traced.orgId });
    expect([body.state, body.deleted.analytics_days]).toEqual(['waiting', 11_000]);
    db.statements.length = 0;
    expect(await app.context.organizations.dropRemoved(10)).toBe(1);
    const parts = db.statements.filter((text) => /^\s*delete from "analytics_days"/.test(text));
    expect(parts).toHaveLength(3);
    expect(await rowsOf(traced.orgId)).toEqual([]);
    expect((await erase({ orgId: traced.orgId })).body).toMatchObject({ id: body.id, state: 'done' });
  });

  test('waits until the payment processor was told, and then goes without 30 days [S44]', async () => {
    await db.sql`
      insert into payment_tasks (id, org_id, kind, subscription_id)
      values (${newId()}, ${traced.orgId}, 'cancel', 'sub_1')`;
    await using paid = await testApp({ sql: db.sql, env: { ...WITH_BILLING } });
    const boss = Object.assign(new Client(paid.address), { cookies: traced.boss.cookies });
    const { body } = await erase({ orgId: traced.orgId }, boss);
    expect(body.state).toBe('waiting');
    await paid.context.organizations.dropRemoved(10);
    expect((await erase({ orgId: traced.orgId }, boss)).body).toMatchObject({ id: body.id, state: 'waiting' });
    await db.sql`delete from payment_tasks`;
    await paid.context.organizations.dropRemoved(10);
    expect((await erase({ orgId: traced.orgId }, boss)).body).toMatchObject({ id: body.id, state: 'done' });
  });

  test('with billing off waits for no payment processor, and tells the log what is left there [S44]', async () => {
    await db.sql`
      insert into payment_tasks (id, org_id, kind, subscription_id)
      values (${newId()}, ${traced.orgId}, 'cancel', 'sub_1')`;
    await db.sql`
      insert into payment_subscriptions (id, org_id, packs, owing, started_at)
      values ('sub_2', ${traced.orgId}, 0, false, now())`;
    expect((await erase({ orgId: traced.orgId })).body.state).toBe('done');
    const told = app.log.lines.flatMap(({ level, detail, message }) =>
      level === 'error' && message.includes('billing is off') ? [detail] : [],
    );
    expect(told).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ orgId: traced.orgId, task: 'cancel', subscription: 'sub_1' }),
        expect.objectContaining({ orgId: traced.orgId, task: 'running', subscription: 'sub_2' }),
      ]),
    );
  });
});

describe('the classes of columns', () => {
  const texts = () => db.sql<{ table: string; column: string }[]>`
    select c.table_name as table, c.column_name as column
    from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = current_schema()
      and t.table_type = 'BASE TABLE'
      and c.table_name <> 'migrations'
      and (c.data_type in ('text', 'json', 'jsonb', 'character varying') or c.udt_name in ('_text', '_varchar'))
    order by 1, 2`;

  test('name every column of text and JSON once, and none that is not there', async () => {
    const named = Object.entries(COLUMN_CLASSES).flatMap(([table, classes]) =>
      Object.values(classes).flatMap((columns) => columns.map((column) => `${table}.${column}`)),
    );
    expect(named.toSorted()).toEqual((await texts()).map(({ table, column }) => `${table}.${column}`).toSorted());
  });

  test('hold as personal each place where a person was found', async () => {
    await leaveMore();
    const personal = new Set(PERSONAL_COLUMNS.map(([table, column]) => `${table}.${column}`));
    const found = [...(await placesOf(db.sql, WORD)), ...(await placesOf(db.sql, CAME_FROM))];
    expect(found.filter((place) => !personal.has(place) && place !== 'organizations.name')).toEqual([]);
  });
});
