import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startChatServer, type ChatServer } from '../support/peers/chat-server.ts';
import { isFull, note } from '../support/processes/chaos.ts';
import { testDatabase, type TestDatabase } from '../support/wire/database.ts';
import { eventually } from '../support/wire/eventually.ts';
import type { SignedUp } from '../support/worlds/app.ts';
import { type CrashingHost, openCrashing, type Place } from '../support/worlds/crash/crashing.ts';
import { BACKEND } from '../support/worlds/media.ts';
import {
  makerAdapters,
  mediaJobsWorld,
  type MediaJobsWorld,
  setProvider,
} from '../support/worlds/studio/media-jobs.ts';

// One media job, and one text, in a process that dies at each statement that it sends: before it reaches the server, and
// before its answer comes. Another process goes on with what is left.

const stack = new AsyncDisposableStack();
let db: TestDatabase;
let world: MediaJobsWorld;
let chat: ChatServer;
let ann: SignedUp;
beforeAll(async () => {
  db = stack.use(await testDatabase({ connections: 8 }));
  world = stack.use(await mediaJobsWorld({ db }));
  chat = stack.use(await startChatServer());
  ann = await world.app.signUp();
  for (const id of ['maker', 'blind']) await setProvider(ann, id);
  const prices = JSON.stringify({ 'gpt-5.4-mini': { output: 1 } }); // a millionth for each token of an answer
  const setting = { domain: 'ai', providerId: 'openai', credentials: { apiKey: 'key' }, options: { prices } };
  expect((await ann.client.post('/providers/settings', setting)).status).toBe(201);
}, 60_000);
afterAll(() => stack.disposeAsync());

const open = (): Promise<CrashingHost> =>
  openCrashing({
    db,
    now: Date.now,
    env: {
      NEXT_PUBLIC_BACKEND_URL: BACKEND,
      UPLOAD_FOLDER: world.folder,
      MEDIA_UPLOAD_MAX_BYTES: '1000000',
      SSRF_ALLOWED_PRIVATE_CIDRS: '127.0.0.1/32',
    },
    parts: { adapters: makerAdapters(), servers: { ...world.maker.servers, 'ai/openai': chat.url } },
  });
/** The places of a piece of work that sent so many statements. */
const places = (statements: number): Place[] =>
  Array.from({ length: statements }, (_, n) =>
    ['before' as const, 'after' as const].map((cut) => ({ at: n + 1, cut })),
  ).flat();
const ledgerOf = (ref: string) => db.sql<{ kind: string; micros: number; marked: boolean }[]>`
  select kind, micros::float8, marked
  from ai_ledger
  where ref = ${ref}
  order by array_position('{reservation,release,settlement}', kind)`;

describe.each(['maker', 'blind'])('a media job of %s', (providerId) => {
  let n = 0;
  let died = 0;
  async function round(place?: Place): Promise<number> {
    const prompt = `${providerId} ${(n += 1)}`;
    const micros = 1_000 + n;
    world.maker.plan(prompt, { polls: ['running', 'done'], micros });
    const asked = { prompt, providerId };
    const begun = await ann.client.post('/files/generate-image', asked, { prefer: 'respond-async' });
    const id = begun.body.jobId as string;
    const isOver = async () =>
      (await db.sql`select from media_jobs where id = ${id} and ended_at is null`).length === 0;

    await using host = await open();
    host.count(place);
    const working = host.context.mediaJobs.start();
    await eventually('the job is over, or nobody is there', async () => host.isDead || (await isOver()));
    const { length } = host.sent;
    if (!host.isDead) await Promise.race([working[Symbol.asyncDispose](), host.died]); // it may die at its last statement
    died += Number(host.isDead);
    if (host.isDead) await host.buried();
    const other = world.app.context.mediaJobs.start();
    await eventually('the job is over', async () => {
      // the lease of the process that is gone is over, and nothing is waited for
      await db.sql`update media_jobs set next_at = now() where id = ${id} and ended_at is null and next_at > now()`;
      return isOver();
    });
    await other[Symbol.asyncDispose]();

    const { state, reservation, file_ids: files } = await world.row(id);
    const taken = world.maker.jobs(prompt);
    expect([place, world.maker.submits(prompt) <= 1, taken.length <= 1]).toEqual([place, true, true]);
    const kept = await db.sql`select from files where generated->>'prompt' = ${prompt}`;
    const facts = (await world.facts(id)).map(({ payload }) => payload.state);
    const ledger = await ledgerOf(reservation);
    if (state === 'unknown') {
      // it may have left, and the provider cannot be asked or has no such job: what it may bill stays reserved
      expect([place, providerId === 'blind' || taken.length === 0]).toEqual([place, true]);
      expect([place, facts, files, kept.length, ledger.map(({ kind }) => kind)]).toEqual([
        place,
        ['unknown'],
        [],
        0,
        ['reservation'],
      ]);
    } else {
      expect([place, state, facts, files.length, kept.length, taken.length]).toEqual([
        place,
        'done',
        ['done'],
        1,
        1,
        1,
      ]);
      expect([place, ledger]).toEqual([
        place,
        [
          { kind: 'reservation', micros: 40_000, marked: false },
          { kind: 'release', micros: -40_000, marked: false },
          { kind: 'settlement', micros, marked: false },
        ],
      ]);
    }
    return length;
  }

  test('is submitted, kept, told and billed once, whatever statement its process dies at', async () => {
    const statements = await round();
    expect(statements).toBeGreaterThan(10);
    // Looks at what is due are among the statements: in some rounds the job is over before the last of them. Of `maker`
    // each statement is tried at one of its sides, in turn.
    const sides = providerId === 'maker' ? [0, 3] : [1];
    const tried = places(statements).filter((_, place) => isFull || sides.includes(place % 4));
    for (const place of tried) await round(place);
    note({ providerId, statements, tried: tried.length, died });
    expect(died).toBeGreaterThan(tried.length / 2);
  }, 900_000);
});

describe('a text', () => {
  async function round(place?: Place): Promise<number> {
    await using host = await open();
    chat.charged.length = 0;
    const before = await db.sql<{ ref: string }[]>`select distinct ref from ai_ledger`;
    host.count(place);
    const writing = host.context.texts
      .write({ orgId: ann.orgId, userId: ann.userId }, { action: 'rewrite', content: 'Text' })
      .then(
        () => 'written',
        () => 'failed',
      );
    const end = await Promise.race([writing, host.died]);
    const { length } = host.sent;
    if (host.isDead) await host.buried();
    await db.sql`update ai_reservations set until = now() - interval '1 second'`; // nobody works on what is left
    await world.app.context.budget.settleLapsed(100);

    const refs = await db.sql<{ ref: string }[]>`
      select distinct ref from ai_ledger where not ref = any(${before.map(({ ref }) => ref)}::uuid[])`;
    const [call] = refs;
    const charged = chat.charged.map(({ tokens }) => tokens);
    expect([place, end, refs.length <= 1, charged.length <= refs.length]).toEqual([
      place,
      place ? 'died' : 'written',
      true,
      true,
    ]);
    if (!call) return length;
    const [reservation, release, settlement, ...more] = await ledgerOf(call.ref);
    expect([place, more, release!.micros]).toEqual([place, [], -reservation!.micros]);
    // what nobody settled counts with the greatest cost, and is marked
    expect([place, settlement!.kind, settlement!.micros]).toEqual([
      place,
      'settlement',
      settlement!.marked ? reservation!.micros : charged[0],
    ]);
    return length;
  }

  test('is asked for once and billed once, whatever statement its process dies at', async () => {
    const statements = await round();
    expect(statements).toBeGreaterThan(5);
    for (const place of places(statements)) await round(place);
    expect(await db.sql`select from ai_reservations`).toEqual([]);
  }, 600_000);
});
