import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { setTimeout } from 'node:timers/promises';
import { newId } from '../../../src/platform/kernel/index.ts';
import { dropDeletedPosts } from '../../../src/publishing/posts/retention.ts';
import { type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { WITH_BILLING } from '../../support/worlds/billing.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { refuseRows } from '../../support/wire/database/refused-row.ts';
import { eventually } from '../../support/wire/eventually.ts';

// What is forgotten by age, and what is not.

let db: TestDatabase;
let app: TestApp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql, env: { IP_RETENTION_DAYS: '10' } });
  await app.signUp(); // the super-admin
});
afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
});

async function channelOf({ orgId }: SignedUp): Promise<string> {
  const id = newId();
  await db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${id}, ${orgId}, 'sandbox', 'v1', ${id}, 'c', 'v2:')`;
  return id;
}
interface Age {
  /** Days ago. */
  created: number;
  deleted: number | null;
  parent?: string;
}
async function post({ orgId }: SignedUp, channelId: string, { created, deleted, parent }: Age): Promise<string> {
  const id = newId();
  await db.sql`
    insert into posts (id, org_id, channel_id, group_id, parent_post_id, root_post_id, state, detail, content,
      publish_date, created_at, deleted_at)
    values (${id}, ${orgId}, ${channelId}, 'g', ${parent ?? null}, ${parent ?? null}, 'PUBLISHED', 'published', 'hi',
      now(), now() - make_interval(days => ${created}),
      now() - make_interval(days => ${deleted}::int))`;
  await db.sql`insert into post_timeline (org_id, post_id, kind, message) values (${orgId}, ${id}, 'created', 'x')`;
  return id;
}
const left = async (table: 'posts' | 'post_timeline', { orgId }: SignedUp) => {
  const column = db.sql(table === 'posts' ? 'id' : 'post_id');
  return (await db.sql<{ id: string }[]>`select ${column} as id from ${db.sql(table)} where org_id = ${orgId}`).map(
    ({ id }) => id,
  );
};

describe('deleted posts', () => {
  test('are removed with their timeline after SOFT_DELETE_RETENTION_DAYS and not before [RT9]', async () => {
    const ann = await app.signUp();
    const channel = await channelOf(ann);
    const living = await post(ann, channel, { created: 400, deleted: null });
    const recent = await post(ann, channel, { created: 400, deleted: 29 });
    await post(ann, channel, { created: 400, deleted: 31 });
    expect(await dropDeletedPosts(db.sql, 30, 500)).toBe(1);
    for (const table of ['posts', 'post_timeline'] as const)
      expect((await left(table, ann)).toSorted()).toEqual([living, recent].toSorted());
    expect(await dropDeletedPosts(db.sql, 30, 500)).toBe(0);
  });

  test('that count in an open billing month stay, however short the retention [RT9, LM13]', async () => {
    const ann = await app.signUp();
    const counted = await post(ann, await channelOf(ann), { created: 20, deleted: 19 });
    await dropDeletedPosts(db.sql, 1, 500);
    expect(await left('posts', ann)).toEqual([counted]);
  });

  test('never remove a live post of their thread [RT9]', async () => {
    const ann = await app.signUp();
    const channel = await channelOf(ann);
    const root = await post(ann, channel, { created: 100, deleted: 60 });
    const living = await post(ann, channel, { created: 100, deleted: null, parent: root });
    await dropDeletedPosts(db.sql, 30, 500);
    expect((await left('posts', ann)).toSorted()).toEqual([root, living].toSorted());
    await db.sql`update posts set deleted_at = now() - interval '40 days' where id = ${living}`;
    while ((await dropDeletedPosts(db.sql, 30, 500)) > 0);
    expect(await left('posts', ann)).toEqual([]);
  });
});

describe('a row that somebody else holds', () => {
  const idOf = async (rows: PromiseLike<readonly { id: string }[]>) => (await rows)[0]!.id;
  const sweep = (name: string) => () => app.context.sweeps.find((one) => one.name === name)!.run(500);
  const CASES: Record<string, { add(): Promise<string>; drop(): Promise<number> }> = {
    emails: {
      add: () =>
        idOf(db.sql<{ id: string }[]>`
          insert into emails (id, to_address, template, provider_id, provider_version, status, created_at)
          values (${newId()}, 'a@example.com', 'activation', 'smtp', 'v1', 'sent', now() - interval '9 years')
          returning id`),
      drop: sweep('emails'),
    },
    errors: {
      add: () =>
        idOf(db.sql<{ id: string }[]>`
          insert into errors (incarnation, room, message, at)
          values ('x', 'x', 'x', now() - interval '9 years')
          returning id::text`),
      drop: sweep('errors'),
    },
    audit_log: {
      add: () =>
        idOf(db.sql<{ id: string }[]>`
          insert into audit_log (action, resource, detail, at)
          values ('x', 'x', '{}', now() - interval '9 years')
          returning id::text`),
      drop: sweep('audit'),
    },
    posts: {
      add: async () => {
        const ann = await app.signUp();
        return post(ann, await channelOf(ann), { created: 400, deleted: 300 });
      },
      drop: sweep('deleted-posts'),
    },
  };
  test.each(Object.entries(CASES))(
    'in %s is left for the next sweep, and the others go',
    async (table, { add, drop }) => {
      const [held, free] = [await add(), await add()];
      const there = async (id: string) => (await db.sql`select from ${db.sql(table)} where id::text = ${id}`).count;
      await db.sql.begin(async (tx) => {
        await tx`select from ${tx(table)} where id::text = ${held} for update`;
        expect(await Promise.race([drop(), setTimeout(3_000, 'it waits')])).toBeGreaterThan(0);
      });
      expect([await there(held), await there(free)]).toEqual([1, 0]);
      await drop();
      expect(await there(held)).toBe(0);
    },
  );
});

describe('a deleted org', () => {
  const removed = async (days: number) => {
    const org = await app.signUp({ company: 'Acme' });
    const channel = await channelOf(org);
    await post(org, channel, { created: 1, deleted: null });
    const key = `org/${org.orgId}/a.png`;
    await db.sql`
      insert into files (id, org_id, name, original_name, storage_key, kind, mime, bytes)
      values (${newId()}, ${org.orgId}, 'a.png', 'a.png', ${key}, 'image', 'image/png', 10)`;
    await db.sql`insert into lifetime_codes (jti, code, org_id) values (${newId()}, 'x', ${org.orgId})`;
    expect((await org.client.delete('/orgs/current', { confirm: 'Acme' })).status).toBe(200);
    await db.sql`update organizations set deleted_at = now() - make_interval(days => ${days}) where id = ${org.orgId}`;
    return { ...org, key };
  };
  const there = async ({ orgId }: SignedUp) => (await db.sql`select from organizations where id = ${orgId}`).count;
  const drop = (limit: number) => app.context.organizations.dropRemoved(limit);

  test('is removed after 30 days with all its rows, and its files are queued for removal [S44]', async () => {
    const [gone, kept] = [await removed(31), await removed(29)];
    expect(await drop(10)).toBe(1);
    expect([await there(gone), await there(kept)]).toEqual([0, 1]);
    const tables = await db.sql<{ name: string }[]>`
      select table_name as name
      from information_schema.columns
      where column_name = 'org_id'
        and table_schema = current_schema()
        and table_name not in ('media_pending_deletions')`;
    expect(tables.length).toBeGreaterThan(20);
    for (const { name } of tables)
      expect([name, (await db.sql`select from ${db.sql(name)} where org_id = ${gone.orgId}`).count]).toEqual([name, 0]);
    expect(await db.sql`select storage_key from media_pending_deletions where org_id = ${gone.orgId}`).toEqual([
      { storage_key: gone.key },
    ]);
    expect(
      await db.sql`
      select code from lifetime_codes where org_id is null`,
    ).toEqual([{ code: 'x' }]); // used it stays
    expect(
      await db.sql`select org_id, user_id from audit_log where action = 'org.purged' and resource_id = ${gone.orgId}`,
    ).toEqual([{ org_id: null, user_id: null }]);
  });

  test('that cannot be deleted holds up no other [S44]', async () => {
    const [bad, good] = [await removed(60), await removed(31)];
    {
      await using _refused = await refuseRows(db.sql, 'delete', 'organizations', `old.id = '${bad.orgId}'`);
      await drop(10);
      expect([await there(bad), await there(good)]).toEqual([1, 0]);
    }
    await drop(10);
    expect(await there(bad)).toBe(0);
  });

  test('waits until the payment processor is told of the end [S44]', async () => {
    const owing = await removed(40);
    await using paid = await testApp({ sql: db.sql, env: { ...WITH_BILLING } });
    const dropPaid = () => paid.context.organizations.dropRemoved(10);
    await db.sql`
      insert into payment_tasks (id, org_id, kind, subscription_id)
      values (${newId()}, ${owing.orgId}, 'cancel', 'sub_1')`;
    await dropPaid();
    expect(await there(owing)).toBe(1);
    await db.sql`delete from payment_tasks where org_id = ${owing.orgId}`;
    await dropPaid();
    expect(await there(owing)).toBe(0);
  });

  test('is removed once by concurrent sweeps, and up to the requested number [S44]', async () => {
    const orgs = [await removed(31), await removed(32), await removed(33)];
    expect((await Promise.all([drop(1), drop(1)])).reduce((n, one) => n + one)).toBe(2);
    expect(await there(orgs[0]!)).toBe(1); // the youngest
    expect(await drop(10)).toBe(1);
  });
});

describe('address and agent', () => {
  const tracesOf = async ({ userId }: SignedUp) =>
    (
      await db.sql<{ ip: string | null; agent: string | null; sessions: string[] }[]>`
        select ip, agent, array(select ip || user_agent from sessions where user_id = ${userId}) as sessions
        from users
        where id = ${userId}`
    )[0]!;

  test('of users and sessions are removed after IP_RETENTION_DAYS, and the sessions stay valid [RT10]', async () => {
    const [old, recent] = [await app.signUp(), await app.signUp()];
    // Their use of a moment ago is written behind the requests, and must not come after what is written here.
    const noted = () =>
      db.sql`select from sessions where user_id in (${old.userId}, ${recent.userId}) and last_used_at > created_at`;
    await eventually('the use of both sessions is noted', async () => (await noted()).count === 2);
    for (const [{ userId }, days] of [
      [old, 11],
      [recent, 9],
    ] as const) {
      await db.sql`
        update users set created_at = now() - make_interval(days => ${days}), agent = 'a browser' where id = ${userId}`;
      await db.sql`
        update sessions
        set last_used_at = now() - make_interval(days => ${days}), user_agent = 'a browser'
        where user_id = ${userId}`;
    }
    expect(await app.context.auth.forgetTraces(100)).toBe(1);
    expect(await tracesOf(old)).toEqual({ ip: null, agent: null, sessions: [''] });
    expect(await tracesOf(recent)).toEqual({
      ip: expect.stringMatching(/./),
      agent: 'a browser',
      sessions: [expect.stringMatching(/a browser$/)],
    });
    expect((await old.client.get('/user/self')).status).toBe(200);
    expect(await app.context.auth.forgetTraces(100)).toBe(0);
  });
});
