import { afterAll, beforeAll, expect } from '@jest/globals';
import { MOST_ROWS } from '../../src/people/organizations/ending.ts';
import type { CrashingHost } from '../support/worlds/crash/crashing.ts';
import { describeDeaths, type DyingTask } from '../support/worlds/crash/crash-deaths.ts';
import { type CrashWorld, crashWorld, type Seeded } from '../support/worlds/crash/crash-world.ts';

// The end of an organization in a process that is killed at each statement that can leave something: afterwards nothing
// of it is left, neither rows nor objects in the storage, and nothing of another organization has changed.

let world: CrashWorld;
beforeAll(async () => void (world = await crashWorld()), 60_000);
afterAll(() => world?.[Symbol.asyncDispose]());

/** More rows than one statement deletes: they go in a full part and a last one. */
const MANY = MOST_ROWS + 1;

interface Both {
  other: Seeded;
  before: Record<string, string>;
}
const both = new Map<string, Both>();
/** Two organizations with the same in every place. */
async function seedBoth(): Promise<Seeded> {
  const [seeded, other] = [await world.org({ channels: 1 }), await world.org({ channels: 1 })];
  for (const one of [seeded, other]) {
    await world.old(one);
    await world.leaves(one);
  }
  const before = await world.placesOf(other.orgId);
  for (const name of [
    'files',
    'idempotency_keys',
    'audit_log',
    'posts',
    'reminders',
    'analytics_days',
    'outbox_refused',
  ])
    expect([name, before[name]]).toEqual([name, expect.any(String)]);
  both.set(seeded.orgId, { other, before });
  return seeded;
}
async function stateOf({ orgId }: Seeded) {
  const { other, before } = both.get(orgId)!;
  expect(await world.placesOf(other.orgId)).toEqual(before);
  return { left: await world.placesOf(orgId), ...(await world.endOf(orgId)) };
}
const sweep = async ({ context }: CrashingHost, name: string): Promise<void> => {
  const { run } = context.sweeps.find((one) => one.name === name)!;
  while ((await run(2)) >= 2);
};
const erase = ({ context }: CrashingHost, { admin }: Seeded, kind: 'org' | 'user', id: string) =>
  context.erasure.erase(
    { userId: admin, impersonatorId: null, ip: null },
    { kind, id, reason: 'asked', dryRun: false },
  );

const TASKS: readonly DyingTask[] = [
  {
    name: 'the erasure of an organization',
    seed: seedBoth,
    async work(host, seeded) {
      await erase(host, seeded, 'org', seeded.orgId);
      await sweep(host, 'organizations');
      await sweep(host, 'media');
    },
    state: stateOf,
  },
  {
    name: 'the erasure of a large organization',
    async seed() {
      const seeded = await seedBoth();
      await world.db.sql`
        insert into analytics_days (org_id, channel_id, metric, date, value)
        select ${seeded.orgId}::uuid, ${seeded.channels[0]!}::uuid, 'likes', date '1980-01-01' + n, n
        from generate_series(1, ${MANY}::int) n`;
      return seeded;
    },
    async work(host, seeded) {
      await erase(host, seeded, 'org', seeded.orgId);
      await sweep(host, 'organizations');
      await sweep(host, 'media');
    },
    state: stateOf,
  },
  {
    name: 'the end of an organization after its 30 days',
    async seed() {
      const seeded = await seedBoth();
      await world.db.sql`
        update organizations set deleted_at = now() - interval '31 days' where id = ${seeded.orgId}`;
      return seeded;
    },
    async work(host) {
      await sweep(host, 'organizations');
      await sweep(host, 'media');
    },
    state: stateOf,
  },
  {
    name: 'the erasure of the only member of an organization',
    async seed() {
      const seeded = await seedBoth();
      await world.db.sql`delete from users where id = ${seeded.people[1]!.id}`;
      return seeded;
    },
    async work(host, seeded) {
      await erase(host, seeded, 'user', seeded.people[0]!.id);
      await sweep(host, 'media');
    },
    async state(seeded) {
      const [users] = await world.db.sql`
        select count(*)::int as n from users where id = ${seeded.people[0]!.id}`;
      return { ...(await stateOf(seeded)), users, person: await world.endOf(seeded.people[0]!.id) };
    },
  },
];

describeDeaths(() => world, TASKS);
