import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { admitPosts } from '../../../actors/organization/admission.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import { isFull, note } from '../../support/processes/chaos.ts';
import { fc } from '../../support/properties.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { override, WITH_BILLING } from '../../support/worlds/billing.ts';
import {
  newPost,
  openNetwork,
  openPublishing,
  seedOrg,
  startPublisher,
} from '../../support/worlds/publishing/world.ts';

// Posts of a month on four hosts that all believe that they own the organization, each with connections and memory of
// its own, against a model that only counts. Hosts forget, lose their connections in the middle, and others go on.

const COMMANDS = Number(process.env['MODEL_COMMANDS'] ?? (isFull ? 100_000 : 300));
const IN_A_LIFE = 40;
const HOSTS = 4;
const CONNECTIONS = 3;
const nameOf = (host: number) => `limits-host-${host}`;

interface Host {
  needs: Awaited<ReturnType<typeof openPublishing>>;
  /** What its activation remembers of the organization. */
  room: Parameters<typeof admitPosts>[3];
}
let db: TestDatabase;
let hosts: Host[];
let commands = 0;
const ends = new AsyncDisposableStack();
beforeAll(async () => {
  db = ends.use(await testDatabase());
  const { beside } = ends.use(await startPublisher({ url: db.url, network: openNetwork(), env: WITH_BILLING }));
  hosts = [];
  for (let host = 0; host < HOSTS; host++) {
    const { engine } = beside;
    const options = { url: db.url, env: WITH_BILLING, connections: CONNECTIONS, applicationName: nameOf(host), engine };
    hosts.push({ needs: ends.use(await openPublishing(options)), room: {} });
  }
});
afterAll(() => ends.disposeAsync());

/** The limit, and what is used of it. */
interface Model {
  most: number;
  used: number;
}
interface Life {
  orgId: string;
  channelIds: string[];
}
/** Creates that one host is asked for in one go: of each the number of posts. */
interface Asked {
  host: number;
  sizes: readonly number[];
}
interface Outcome {
  size: number;
  /** `lost`: no answer came, and it was granted or not. */
  was: 'granted' | 'refused' | 'lost';
}
type Command = fc.AsyncCommand<Model, Life>;
const command = (name: string, run: (model: Model, life: Life) => Promise<void>): Command => ({
  check: () => true,
  async run(model, life) {
    commands += 1;
    await run(model, life);
    await isExact(model, life);
  },
  toString: () => name,
});

async function ask({ orgId, channelIds }: Life, { host, sizes }: Asked): Promise<Outcome[]> {
  const { needs, room } = hosts[host]!;
  const posts = (size: number) =>
    Array.from({ length: size }, (_, n) => newPost(channelIds[n % channelIds.length]!, { state: 'DRAFT' }));
  const creates = sizes.map((size) => ({ posts: posts(size), createdBy: newId() }));
  const outcomes = await admitPosts(orgId, creates, needs, room).catch(() => undefined);
  return sizes.map((size, n) => {
    if (!outcomes) return { size, was: 'lost' };
    const refused = outcomes[n];
    if (refused && refused.code !== 'limit_exceeded') return { size, was: 'lost' };
    return { size, was: refused ? 'refused' : 'granted' };
  });
}
const sum = (outcomes: readonly Outcome[], was: Outcome['was']) =>
  outcomes.reduce((all, one) => all + (one.was === was ? one.size : 0), 0);

/** No more than the limit, and the counter is what the rows are. */
async function isExact({ most, used }: Model, { orgId }: Life): Promise<void> {
  const seen = await countOf(orgId);
  expect(seen).toEqual({ rows: used, counter: used });
  expect(used).toBeLessThanOrEqual(most);
}
async function countOf(orgId: string): Promise<{ rows: number; counter: number }> {
  const [row] = await db.sql<{ rows: number; counter: number }[]>`
    select (select count(*)::int from posts where org_id = ${orgId}) as rows,
      coalesce((select posts from org_counters where org_id = ${orgId}), 0) as counter`;
  return row!;
}
/** Judges a burst by what was answered, and goes on with what is there. */
async function judge(model: Model, { orgId }: Life, outcomes: readonly Outcome[]): Promise<void> {
  const { rows } = await countOf(orgId);
  const [granted, lost] = [sum(outcomes, 'granted'), sum(outcomes, 'lost')];
  expect(rows).toBeGreaterThanOrEqual(model.used + granted);
  expect(rows).toBeLessThanOrEqual(model.used + granted + lost);
  for (const { size, was } of outcomes)
    if (was === 'refused') expect({ size, hadRoom: rows + size <= model.most }).toEqual({ size, hadRoom: false });
  model.used = rows;
}
/** Each host does one after another, as an actor does, and all of them at once. */
const askAll = async (life: Life, all: readonly Asked[]): Promise<Outcome[]> => {
  const byHost = [...Map.groupBy(all, ({ host: at }) => at).values()];
  const answers = byHost.map(async (ones) => {
    const outcomes: Outcome[] = [];
    for (const one of ones) outcomes.push(...(await ask(life, one)));
    return outcomes;
  });
  return (await Promise.all(answers)).flat();
};
/** Cuts the connections of a host: nothing of it goes on in the database. */
async function cut(host: number): Promise<void> {
  await db.sql`
    select pg_terminate_backend(pid, 30000)
    from pg_stat_activity
    where application_name = ${nameOf(host)} and datname = current_database()`;
}
/** It has connections again. */
const isBack = (host: number) =>
  eventually('the host has connections', async () => {
    const { sql } = hosts[host]!.needs;
    const asks = Array.from({ length: CONNECTIONS }, () => sql`select pg_sleep(0.01)`);
    return (await Promise.allSettled(asks)).every(({ status }) => status === 'fulfilled');
  });

const host = fc.nat(HOSTS - 1);
const asked = fc.record({ host, sizes: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 8 }) });
const lives = fc.commands(
  [
    fc.array(asked, { minLength: 1, maxLength: 8 }).map((all) =>
      command(`ask ${JSON.stringify(all)}`, async (model, life) => {
        const outcomes = await askAll(life, all);
        expect(outcomes.filter(({ was }) => was === 'lost')).toEqual([]);
        await judge(model, life, outcomes);
      }),
    ),
    fc.tuple(fc.array(asked, { minLength: 2, maxLength: 8 }), host).map(([all, dies]) =>
      command(`ask ${JSON.stringify(all)} while host ${dies} is cut off`, async (model, life) => {
        const answers = askAll(life, all);
        await cut(dies);
        await judge(model, life, await answers);
        hosts[dies]!.room = {};
        await isBack(dies);
      }),
    ),
    host.map((dies) =>
      command(`host ${dies} starts anew`, async () => {
        hosts[dies]!.room = {};
      }),
    ),
    fc.nat(12).map((more) =>
      command(`the limit is what is used and ${more} more`, async (model, { orgId }) => {
        model.most = model.used + more;
        await override(db.sql, orgId, { posts_per_month: model.most });
      }),
    ),
    fc.constant(
      command('the counter is lost', async (_, { orgId }) => {
        await db.sql`delete from org_counters where org_id = ${orgId}`;
        await hosts[0]!.needs.billing.quota(orgId);
      }),
    ),
  ],
  { size: 'max', maxCommands: IN_A_LIFE },
);

async function live(script: Iterable<Command>): Promise<void> {
  const { orgId, channelIds } = await seedOrg(db.sql, 3);
  for (const one of hosts) one.room = {};
  const model = { most: 30, used: 0 };
  await override(db.sql, orgId, { posts_per_month: model.most });
  await fc.asyncModelRun(() => ({ model, real: { orgId, channelIds } }), script);
}

test('four hosts grant exactly up to the limit after every command, also where one is cut off or forgets [R5, LM11]', async () => {
  while (commands < COMMANDS) await fc.assert(fc.asyncProperty(lives, live), { numRuns: 1, endOnFailure: false });
  note({ commands, hosts: HOSTS });
}, 86_400_000);
