// oxlint-disable max-lines -- one database serves all cases
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { admitPosts } from '../../../actors/organization/admission.ts';
import { AppError, newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { override, subscribe, WITH_BILLING } from '../../support/worlds/billing.ts';
import { counted } from '../../support/worlds/counted.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { eventually, gate } from '../../support/wire/eventually.ts';
import {
  admit,
  newPost,
  openNetwork,
  openPublishing,
  postActorOf,
  type Publisher,
  seedOrg,
  startPublisher,
} from '../../support/worlds/publishing/world.ts';

let db: TestDatabase;
let world: Publisher;
const sent: string[] = [];
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db[Symbol.asyncDispose]());
beforeEach(async () => {
  world = await startPublisher({
    url: db.url,
    network: openNetwork(),
    env: WITH_BILLING,
    onStatement: (text) => sent.push(text),
  });
});
afterEach(async () => world[Symbol.asyncDispose]());

const DAY = 86_400_000;
const later = () => systemClock.in(DAY);
const draft = (channelId: string) => newPost(channelId, { state: 'DRAFT' });
/** A thread: one post, however many items it has. */
const thread = (channelId: string, items: number) => {
  const root = draft(channelId);
  return [
    root,
    ...Array.from({ length: items }, () => ({ ...draft(channelId), rootPostId: root.id, parentPostId: root.id })),
  ];
};
const full = (max: number) => ({
  code: 'limit_exceeded',
  message: `Plan limit reached: posts_per_month (${max})`,
  extra: { limit: 'posts_per_month', max },
});
const settle = async (calls: readonly Promise<unknown>[]) => {
  const settled = await Promise.allSettled(calls);
  const refusals = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason as AppError] : []));
  return { granted: settled.length - refusals.length, refusals };
};
const used = async (orgId: string) => (await world.billing.usage(orgId)).limits.posts_per_month.used;
/** What stands in the rows, and what the counter says: always the same. */
async function recounted(orgId: string): Promise<number> {
  const { entitlement } = await world.billing.usage(orgId);
  const [row] = await db.sql<{ rows: number; posts: number }[]>`
    select (select count(*)::int
    from posts
    where org_id = ${orgId} and root_post_id is null and created_at >= ${entitlement.month.start}) as rows,
      (select posts from org_counters where org_id = ${orgId}) as posts`;
  expect(row!.posts).toBe(row!.rows);
  return row!.rows;
}
const deactivate = (orgId: string) => world.host.deactivate({ type: 'Organization', id: orgId });

describe('posts of a billing month', () => {
  test('are granted up to the plan limit and refused beyond it with the name of the limit [LM11, LM13, LM1]', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    await subscribe(db.sql, orgId);
    const { granted, refusals } = await settle(
      Array.from({ length: 130 }, () => admit(world, orgId, [draft(channelId)])),
    );
    expect(granted).toBe(100);
    for (const refusal of refusals) expect(refusal).toMatchObject(full(100));
    expect(await recounted(orgId)).toBe(100);
  });

  test('of a month that begins while a look waits for the organization stay counted [LM13]', async () => {
    const { orgId } = await seedOrg(db.sql);
    const start = systemClock.in(1_000);
    const anchor = new Date(start);
    anchor.setUTCFullYear(start.getUTCFullYear() - 1, 0); // January has each day that a month can have
    await subscribe(db.sql, orgId, { createdAt: anchor });
    const { look } = await db.sql.begin(async (tx) => {
      await world.billing.lockOrg(tx, orgId);
      const waiting = world.billing.quota(orgId);
      await tx`select pg_sleep(extract(epoch from ${start}::timestamptz - clock_timestamp())::float8)`;
      await tx`
        update org_counters
        set month_anchor = ${anchor}, month_start = ${start}, posts = 7
        where org_id = ${orgId}`;
      return { look: waiting };
    });
    expect(await look).toMatchObject({ monthStart: start, used: 7 });
    expect(await used(orgId)).toBe(7);
  });

  test('are granted exactly up to the limit when 2,000 requests race over many turns [LM11]', async () => {
    const { orgId, channelIds } = await seedOrg(db.sql, 20);
    await override(db.sql, orgId, { posts_per_month: 777 });
    let waves = 0;
    const wave = async () =>
      settle(Array.from({ length: 500 }, (_, n) => admit(world, orgId, [draft(channelIds[(n + waves++) % 20]!)])));
    const results = await Promise.all([wave(), wave(), wave(), wave()]);
    expect(results.reduce((sum, { granted }) => sum + granted, 0)).toBe(777);
    for (const { refusals } of results) for (const refusal of refusals) expect(refusal).toMatchObject(full(777));
    expect(await recounted(orgId)).toBe(777);
  });

  test('are checked against the new plan when the plan changes while they wait for the counter', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    await subscribe(db.sql, orgId, { tier: 'PRO' });
    await override(db.sql, orgId, { posts_per_month: 100 });
    await admit(world, orgId, [draft(channelId)]);
    const [begun, end] = [gate(), gate()];
    const lowered = db.sql.begin(async (tx) => {
      await world.billing.override(tx, orgId, { posts_per_month: 1 });
      begun.open();
      await end.passed;
    });
    await begun.passed;
    const creates = settle(Array.from({ length: 50 }, () => admit(world, orgId, [draft(channelId)])));
    sent.length = 0;
    await eventually('the creates find the counter locked', () =>
      sent.some((text) => text.includes('stale as materialized')),
    );
    end.open();
    await lowered;
    const { granted, refusals } = await creates;
    expect(granted).toBe(0);
    for (const refusal of refusals) expect(refusal).toMatchObject(full(1));
    expect(await recounted(orgId)).toBe(1);
  });

  test('are granted all or none per create; a smaller create behind a refused one still fits', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    await override(db.sql, orgId, { posts_per_month: 5 });
    const sizes = [3, 4, 1, 2, 1];
    const { granted } = await settle(
      sizes.map((size) =>
        admit(
          world,
          orgId,
          Array.from({ length: size }, () => draft(channelId)),
        ),
      ),
    );
    expect(granted).toBe(3); // 3, 1 and 1
    expect(await recounted(orgId)).toBe(5);
  });

  test('are counted by thread; a deleted one still counts as created [LM13]', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    await override(db.sql, orgId, { posts_per_month: 2 });
    const first = thread(channelId, 4);
    await admit(world, orgId, first);
    expect(await used(orgId)).toBe(1);
    await postActorOf(world, orgId, first[0]!.id).cancel({});
    expect(await used(orgId)).toBe(1);
    await admit(world, orgId, [draft(channelId)]);
    await expect(admit(world, orgId, [draft(channelId)])).rejects.toMatchObject(full(2));
  });

  test('take no room when refused for another reason', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    await override(db.sql, orgId, { posts_per_month: 1 });
    const { granted, refusals } = await settle([
      admit(world, orgId, [draft(newId())]),
      admit(world, orgId, [draft(channelId)]),
      admit(world, orgId, [draft(channelId)]),
    ]);
    expect(granted).toBe(1);
    expect(refusals.map(({ code }) => code).toSorted()).toEqual(['invalid_request', 'limit_exceeded']);
    expect(await recounted(orgId)).toBe(1);
  });

  test('are stored and counted once for a repeated call; the repeat succeeds even if the first took the last place', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    await override(db.sql, orgId, { posts_per_month: 1 });
    const create = [draft(channelId)];
    expect(await admit(world, orgId, create)).toEqual({ postIds: [create[0]!.id] });
    expect(await admit(world, orgId, create)).toEqual({ postIds: [create[0]!.id] });
    expect(await recounted(orgId)).toBe(1);
  });

  test('start at zero in the next month; those of the previous month stay [LM13]', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    const createdAt = new Date(Date.now() - 40 * DAY);
    await subscribe(db.sql, orgId, { createdAt });
    await override(db.sql, orgId, { posts_per_month: 2 });
    await settle(Array.from({ length: 3 }, () => admit(world, orgId, [draft(channelId)])));
    expect(await used(orgId)).toBe(2);
    // The month passes: everything happened a month earlier than it did.
    const back = (column: Date | string) => new Date(new Date(column).getTime() - 31 * DAY);
    const { entitlement } = await world.billing.usage(orgId);
    await db.sql`update posts set created_at = created_at - interval '31 days' where org_id = ${orgId}`;
    await db.sql`update org_counters set month_start = ${back(entitlement.month.start)} where org_id = ${orgId}`;
    expect(await used(orgId)).toBe(0);
    const { granted } = await settle(Array.from({ length: 3 }, () => admit(world, orgId, [draft(channelId)])));
    expect(granted).toBe(2);
    expect(await recounted(orgId)).toBe(2);
    expect((await db.sql`select from posts where org_id = ${orgId}`).count).toBe(4);
  });

  test('are recounted from rows when the anchor of the months changes [LM13, S217]', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    await settle(Array.from({ length: 5 }, () => admit(world, orgId, [draft(channelId)])));
    await subscribe(db.sql, orgId, { createdAt: new Date() });
    expect(await used(orgId)).toBe(0);
    await admit(world, orgId, [draft(channelId)]);
    expect(await recounted(orgId)).toBe(1);
    await db.sql`delete from subscriptions where org_id = ${orgId}`;
    expect(await used(orgId)).toBe(6);
    await admit(world, orgId, [draft(channelId)]);
    expect(await recounted(orgId)).toBe(7);
  });
});

describe('a change of what an org may have', () => {
  test('applies from the next create on, up and down, by plan, packs and override [LM9, LM10]', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    const create = () => admit(world, orgId, [draft(channelId)]);
    await override(db.sql, orgId, { posts_per_month: 1 });
    await create();
    await expect(create()).rejects.toMatchObject(full(1));
    await override(db.sql, orgId, { posts_per_month: 2 });
    await create();
    await override(db.sql, orgId, { posts_per_month: 0 });
    await expect(create()).rejects.toMatchObject(full(0));
    await override(db.sql, orgId, {});
    await create(); // STARTER has a hundred
    await subscribe(db.sql, orgId, { createdAt: new Date(Date.now() - DAY), packs: { extra_posts: 2 } });
    await create();
    expect((await world.billing.usage(orgId)).limits.posts_per_month).toEqual({
      plan: 100,
      addons: 1_000,
      override: null,
      effective: 1_100,
      used: 4,
    });
  });

  test('is seen by an activation with a stale limit: its grants are checked against the rows [LM11]', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    await override(db.sql, orgId, { posts_per_month: 50 });
    await admit(world, orgId, [draft(channelId)]); // it remembers room for 49
    await override(db.sql, orgId, { posts_per_month: 10 });
    const { granted, refusals } = await settle(
      Array.from({ length: 30 }, () => admit(world, orgId, [draft(channelId)])),
    );
    expect(granted).toBe(9);
    for (const refusal of refusals) expect(refusal).toMatchObject(full(10));
  });

  test('at the end of a grace period applies without any write [S80]', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    const plan = { tier: 'PRO', createdAt: systemClock.now() } as const;
    await subscribe(db.sql, orgId, plan);
    const { granted } = await settle(Array.from({ length: 101 }, () => admit(world, orgId, [draft(channelId)])));
    expect(granted).toBe(101);
    // One more is let in within the period, which is as long as this machine needs for it.
    const create = () => settle([admit(world, orgId, [draft(channelId)])]);
    let graceEndsAt: Date;
    let ms = 500;
    do {
      graceEndsAt = systemClock.in((ms *= 2));
      await subscribe(db.sql, orgId, { ...plan, graceEndsAt });
    } while ((await create()).granted === 0);
    const isOver = async () => (await db.sql<{ over: boolean }[]>`select now() > ${graceEndsAt} as over`)[0]!.over;
    await eventually(
      'the grace period is over',
      async () => systemClock.now() > graceEndsAt && (await isOver()),
      120_000,
    );
    await expect(admit(world, orgId, [draft(channelId)])).rejects.toMatchObject(full(100));
  });
});

describe('two activations of one Organization at once', () => {
  test('together grant exactly the remaining places, whatever each has cached [LM11]', async () => {
    const { orgId, channelIds } = await seedOrg(db.sql, 4);
    await override(db.sql, orgId, { posts_per_month: 500 });
    // Two hosts that both believe that they own the actor: each with a room, connections and memory of its own.
    await using other = await openPublishing({
      url: db.url,
      env: WITH_BILLING,
      connections: 4,
      engine: world.beside.engine,
    });
    const hosts = [
      { needs: world, room: {} },
      { needs: other, room: {} },
    ];
    const outcomes: (AppError | undefined)[] = [];
    await Promise.all(
      hosts.map(async ({ needs, room }) => {
        for (let turn = 0; turn < 40; turn++)
          outcomes.push(
            ...(await admitPosts(
              orgId,
              Array.from({ length: 25 }, (_, n) => ({ posts: [draft(channelIds[n % 4]!)], createdBy: newId() })),
              needs,
              room,
            )),
          );
      }),
    );
    expect(outcomes).toHaveLength(2_000);
    expect(outcomes.filter((refused) => !refused)).toHaveLength(500);
    for (const refused of outcomes) if (refused) expect(refused).toMatchObject(full(500));
    expect(await recounted(orgId)).toBe(500);
  });

  test('do not block each other while there is room: neither reads the rows again', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    await override(db.sql, orgId, { posts_per_month: 1_000 });
    const create = () => [{ posts: [draft(channelId)], createdBy: newId() }];
    const [a, b] = [{}, {}];
    await admitPosts(orgId, create(), world, a);
    await admitPosts(orgId, create(), world, b);
    const { statements } = await counted(sent, async () => {
      for (const room of [a, b, a, b]) expect(await admitPosts(orgId, create(), world, room)).toEqual([undefined]);
    });
    expect(statements).toBe(4);
  });
});

describe('the cost of a create', () => {
  test('H3 with billing: one create is one commit with as many statements as without; the storing statement enforces the limit', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    await override(db.sql, orgId, { posts_per_month: 1_000 });
    await admit(world, orgId, [draft(channelId)]); // the actor is there
    const create = () => admit(world, orgId, [newPost(channelId, { publishDate: later() })]);
    expect(await counted(sent, create)).toMatchObject({ statements: 1, commits: 1 }); // its reminder included
    expect(await counted(sent, create)).toMatchObject({ statements: 1, commits: 1 });
  });

  test('H4, H5 with billing: concurrent creates share commits within one organization and across many', async () => {
    const { orgId, channelIds } = await seedOrg(db.sql, 10);
    await override(db.sql, orgId, { posts_per_month: 1_000 });
    await admit(world, orgId, [draft(channelIds[0]!)]);
    const one = await counted(sent, () =>
      Promise.all(
        Array.from({ length: 100 }, (_, n) =>
          admit(world, orgId, [newPost(channelIds[n % 10]!, { publishDate: later() })]),
        ),
      ),
    );
    expect(one.statements).toBeLessThanOrEqual(6);
    expect(one.commits).toBeLessThanOrEqual(2);
    const orgs = await Promise.all(Array.from({ length: 50 }, () => seedOrg(db.sql)));
    await Promise.all(orgs.map((org) => admit(world, org.orgId, [draft(org.channelId)])));
    const many = await counted(sent, () =>
      Promise.all(orgs.map((org) => admit(world, org.orgId, [newPost(org.channelId, { publishDate: later() })]))),
    );
    expect(many.statements).toBeLessThanOrEqual(12);
    expect(many.commits).toBeLessThanOrEqual(4);
  });

  test('the whole commit is one statement, with the reminders of channels that came nearer within the horizon', async () => {
    const { orgId, channelIds } = await seedOrg(db.sql, 3);
    const [drafted, sooner, distant] = channelIds as [string, string, string];
    await override(db.sql, orgId, { posts_per_month: 1_000 });
    await admit(world, orgId, [draft(drafted)]);
    sent.length = 0;
    const near = newPost(sooner, { publishDate: systemClock.in(DAY) });
    const far = newPost(distant, { publishDate: systemClock.in(30 * DAY) });
    await Promise.all([draft(drafted), near, far].map((post) => admit(world, orgId, [post])));
    expect(sent.filter((text) => /insert into posts/.test(text))).toHaveLength(1);
    expect(sent.filter((text) => /^\s*(begin|commit)/i.test(text))).toEqual([]);
    expect(await recounted(orgId)).toBe(4);
    expect(
      await db.sql`
        select c.id, c.next_due_at as due, r.due_at as reminded, r.owner
        from channels c
        left join actor_reminders r on r.type = 'Channel' and r.id = c.org_id || ':' || c.id and r.name = 'due'
        where c.org_id = ${orgId}
        order by c.next_due_at`,
    ).toEqual([
      { id: sooner, due: near.publishDate, reminded: near.publishDate, owner: orgId },
      { id: distant, due: far.publishDate, reminded: null, owner: null },
      { id: drafted, due: null, reminded: null, owner: null },
    ]);
  });

  test('a refusal finds its own posts by their keys, however many posts the organization has', async () => {
    const [{ orgId, channelId }, other] = [await seedOrg(db.sql), await seedOrg(db.sql)];
    await db.sql`
      insert into posts (id, org_id, channel_id, group_id, state, content, publish_date)
      select gen_random_uuid(), ${other.orgId}, ${other.channelId}, 'g', 'DRAFT', '', now()
      from generate_series(1, 5000)`;
    await db.sql`
      analyze posts`; // before the organization has its own: so few, for all the planner knows, that it would rather read them all
    await override(db.sql, orgId, { posts_per_month: 300 });
    for (let n = 0; n < 3; n++)
      await Promise.all(Array.from({ length: 100 }, () => admit(world, orgId, [draft(channelId)])));
    sent.length = 0;
    await settle([admit(world, orgId, [draft(channelId)])]);
    const text = sent.find((one) => /from posts/.test(one))!;
    const ids = Array.from({ length: 30 }, () => `'${newId()}'`);
    const asked = text.replace(/\$\d+::uuid\[\]/, `array[${ids.join()}]::uuid[]`).replace(/\$\d+/, `'${orgId}'`);
    const plan = JSON.stringify(await db.sql.unsafe(`explain (analyze, format json) ${asked}`));
    expect([...plan.matchAll(/"Index Name":"(\w+)"/g)].map(([, name]) => name)).toEqual(['posts_pkey']);
  });

  test('concurrent refusals at the limit share two reads of the rows and no commit', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    await override(db.sql, orgId, { posts_per_month: 1 });
    await admit(world, orgId, [draft(channelId)]);
    const { statements, commits } = await counted(sent, () =>
      settle(Array.from({ length: 100 }, () => admit(world, orgId, [draft(channelId)]))),
    );
    expect(statements).toBeLessThanOrEqual(4); // two turns
    expect(commits).toBe(0);
  });
});

describe('the counter', () => {
  test('is rebuilt from rows when the org has none and survives the activation', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    await settle(Array.from({ length: 4 }, () => admit(world, orgId, [draft(channelId)])));
    await deactivate(orgId);
    await db.sql`delete from org_counters where org_id = ${orgId}`;
    await admit(world, orgId, [draft(channelId)]);
    expect(await recounted(orgId)).toBe(5);
    await deactivate(orgId);
    await admit(world, orgId, [draft(channelId)]);
    expect(await recounted(orgId)).toBe(6);
  });

  test('is rebuilt by the next commit after it vanishes behind an activation', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    await admit(world, orgId, [draft(channelId)]);
    await db.sql`delete from org_counters where org_id = ${orgId}`;
    await admit(world, orgId, [draft(channelId)]);
    expect(await recounted(orgId)).toBe(2);
  });
});

test('refuses, counts and queries nothing without billing; posts created meanwhile count once billing is on again [S216]', async () => {
  const { orgId, channelId } = await seedOrg(db.sql);
  await override(db.sql, orgId, { posts_per_month: 3 });
  await admit(world, orgId, [draft(channelId)]);
  await world[Symbol.asyncDispose]();
  {
    await using off = await startPublisher({
      url: db.url,
      network: openNetwork(),
      onStatement: (text) => sent.push(text),
    });
    await off.billing.begin();
    const { statements } = await counted(sent, () =>
      settle(Array.from({ length: 5 }, () => admit(off, orgId, [draft(channelId)]))),
    );
    expect(statements).toBeLessThanOrEqual(2);
    expect(sent.join()).not.toContain('org_counters');
    expect((await off.billing.usage(orgId)).limits.posts_per_month).toMatchObject({
      override: null,
      effective: 1_000_000,
      used: 6,
    });
  }
  world = await startPublisher({ url: db.url, network: openNetwork(), env: WITH_BILLING });
  expect(await used(orgId)).toBe(6);
  await expect(admit(world, orgId, [draft(channelId)])).rejects.toMatchObject(full(3));
});
