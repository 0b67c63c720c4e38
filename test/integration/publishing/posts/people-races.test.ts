import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { organizationActor } from '../../../../actors/organization/contract.ts';
import { AppError, newId, systemClock } from '../../../../src/platform/kernel/index.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import {
  admit,
  newPost,
  openNetwork,
  type Publisher,
  postActorOf,
  seedOrg,
  settled,
  startPublisher,
} from '../../../support/worlds/publishing/world.ts';

/** `RACE_ROUNDS=10000 npm test -- publishing/posts/people-races` goes deep. */
const ROUNDS = Number(process.env['RACE_ROUNDS'] ?? 300);
const LANES = 20;
/** People act within so many milliseconds of the due time. */
const AROUND_MS = 5;
const AHEAD_MS = 60;

let db: TestDatabase;
let world: Publisher;
const network = openNetwork();
const by = { userId: newId(), schedulesFreely: false };
let orgs: { orgId: string; channelIds: string[]; asks: boolean }[];
beforeAll(async () => {
  network.latencyMs = AROUND_MS;
  db = await testDatabase({ connections: 4 });
  world = await startPublisher({ url: db.url, network });
  const [free, asks] = [await seedOrg(db.sql, LANES / 2), await seedOrg(db.sql, LANES / 2)];
  await db.sql`update organizations set settings = '{"approvalRequired":"members"}' where id = ${asks.orgId}`;
  orgs = [
    { ...free, asks: false },
    { ...asks, asks: true },
  ];
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const now = async () => ((await db.sql`select clock_timestamp() as at`)[0]!['at'] as Date).getTime();
/** `done`, or the code with which the loser was told. */
type Told = string | undefined;

interface Round {
  orgId: string;
  channelId: string;
  asks: boolean;
  postId: string;
  edit: Told;
  cancel: Told;
  approve: Told;
  pause: Told;
  /** By the clock of the database: when `pause` had answered, and when the brake was taken away. */
  paused?: number;
  resumed?: number;
}

async function race(lane: number): Promise<Round> {
  const { orgId, channelIds, asks } = orgs[lane % 2]!;
  const channelId = channelIds[Math.floor(lane / 2)]!;
  const due = new Date(Date.now() + AHEAD_MS);
  const post = newPost(channelId, { content: '<p>old</p>', publishDate: due });
  await admit(world, orgId, [post], { createdBy: by.userId });
  const [row] = await world.posts.getPost(orgId, post.id);
  const person = postActorOf(world, orgId, post.id);
  const organization = world.actors(organizationActor, orgId);
  const target = { scope: 'channel' as const, id: channelId };

  const around = async (act: () => Promise<unknown>): Promise<Told> => {
    await systemClock.sleep(due.getTime() - Date.now() + (Math.random() * 2 - 1) * AROUND_MS);
    return act().then(
      () => 'done',
      (error: unknown) => (error instanceof AppError ? error.code : String(error)),
    );
  };
  const maybe = (share: number, act: () => Promise<unknown>) =>
    Math.random() < share ? around(act) : Promise.resolve(undefined);
  const round: Round = { orgId, channelId, asks, postId: post.id, ...(await rivals()) };
  if (round.pause === 'done') {
    round.resumed = await now();
    await organization.resumePosts({ target, spacingSeconds: 0 });
  }
  return round;

  async function rivals() {
    let paused: number | undefined;
    const [edit, cancel, approve, pause] = await Promise.all([
      around(() => person.edit({ content: '<p>new</p>', by })),
      maybe(1 / 3, () => person.cancel({})),
      asks
        ? around(() => person.approve({ by: { ...by, userId: newId() }, contentHash: row!.contentHash! }))
        : undefined,
      maybe(1 / 2, async () => {
        await organization.pausePosts({ target });
        paused = await now();
      }),
    ]);
    return { edit, cancel, approve, pause, ...(paused !== undefined && { paused }) };
  }
}

/** What is wrong with the outcome of a round: one of those who raced has won whole, and the others know. */
async function faultsOf({ postId, asks, edit, cancel, approve, pause, paused, resumed }: Round): Promise<string[]> {
  const [row] = await db.sql`
    select state, content, deleted_at is not null as deleted, approval_state as approval from posts where id = ${postId}`;
  const kinds = (await db.sql`select kind from post_timeline where post_id = ${postId} order by id`).map(
    ({ kind }) => kind as string,
  );
  const claims = await db.sql`select at from post_timeline where post_id = ${postId} and kind = 'claimed'`;
  const sent = network.taken.filter((one) => one.postId === postId).map(({ text }) => text);
  const won = (told: Told) => told === 'done';
  const lost = ['conflict', 'already_published', 'not_found'];
  const wrong: [string, boolean][] = [
    ['a loser is told otherwise', [edit, cancel, approve, pause].some((t) => t && !won(t) && !lost.includes(t))],
    [
      'somebody is told that it is gone, and nobody has deleted it',
      [edit, approve].includes('not_found') && !won(cancel),
    ],
    ['sent twice', sent.length > 1],
    ['sent, and not published', (sent.length === 1) !== (row!['state'] === 'PUBLISHED')],
    // one that is out is deleted here only
    [
      'deleted, and sent afterwards',
      won(cancel) && (!row!['deleted'] || (sent.length > 0 && kinds.at(-2) !== 'published')),
    ],
    ['not deleted, and nothing stood against it', cancel !== undefined && !won(cancel) && sent.length === 0],
    ['an edit is lost', won(edit) && row!['content'] !== '<p>new</p>'],
    ['an edit that was refused is there', !won(edit) && row!['content'] !== '<p>old</p>'],
    ['sent as something else', sent.length === 1 && sent[0] !== (won(edit) ? 'new' : 'old')],
    ['sent without consent', asks && sent.length === 1 && (!won(approve) || won(edit))],
    ['held, and nobody is asked', asks && sent.length === 0 && !row!['deleted'] && row!['approval'] !== 'awaiting'],
    ['left behind', !asks && !won(cancel) && sent.length === 0],
    [
      'claimed under a brake',
      claims.some(
        ({ at }) => paused !== undefined && (at as Date).getTime() > paused && (at as Date).getTime() < resumed!,
      ),
    ],
  ];
  return wrong.flatMap(([fault, isSo]) => (isSo ? [fault] : []));
}

test(`edit, cancel, approval, brake and claim race around the due time ${ROUNDS} times, and one outcome is whole [R16, S121, S123, S114]`, async () => {
  const told = new Map<string, number>();
  for (let n = 0; n < ROUNDS; n += LANES) {
    const rounds = await Promise.all(Array.from({ length: LANES }, (_, lane) => race(lane)));
    for (const { orgId } of orgs) await settled(db.sql, orgId);
    for (const round of rounds) {
      const faults = await faultsOf(round);
      expect({ round, faults }).toEqual({ round, faults: [] });
      for (const name of ['edit', 'cancel', 'approve', 'pause'] as const) {
        const key = `${name} ${round[name]}`;
        told.set(key, (told.get(key) ?? 0) + 1);
      }
    }
  }
  // each of them has won and lost
  for (const key of ['edit done', 'cancel done', 'approve done', 'pause done', 'approve conflict'])
    expect([key, told.has(key)]).toEqual([key, true]);
  expect([...told.keys()].some((key) => /^edit (conflict|already_published)/.test(key))).toBe(true);
}, 600_000);
