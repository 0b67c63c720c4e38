import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { draftIdOf } from '../../src/studio/designer/drafts.ts';
import { chance, isFull, note, rounds, sizeOf } from '../support/processes/chaos.ts';
import type { InnerMoment, RunsSetup } from '../support/processes/scripts/runs-process.ts';
import { type DesignerWorld, designerWorld, step, type Told } from '../support/worlds/studio/designer-world.ts';
import { testDatabase, type TestDatabase } from '../support/wire/database.ts';
import { eventually } from '../support/wire/eventually.ts';

// Runs while the processes that work on them are killed: at each boundary of a step, and at random. What was asked and
// made is counted at the servers of the providers, and held against the ledger.

const PROCESS = fileURLToPath(new URL('../support/processes/scripts/runs-process.ts', import.meta.url));
/** Nothing ends because the machine is busy. */
const UNHURRIED = Object.fromEntries(
  [
    'AI_DESIGNER_AGENT_TIMEOUT_MS',
    'AI_DESIGNER_ASSET_TIMEOUT_MS',
    'CONTENT_PIPELINE_TOTAL_TIMEOUT_MS',
    'CONTENT_PIPELINE_AGENT_TIMEOUT_MS',
  ].map((name) => [name, '3600000']),
);
/** A millionth of a dollar for each token of an answer, so that each answer has a cost of its own. */
const PRICES = { 'gpt-5.4-mini': { output: 1 } };

interface RunsProcess {
  incarnation: string;
  /** Begins to work; at this moment of a step it dies. */
  work(moment?: InnerMoment): void;
  exited: Promise<unknown>;
  kill(): Promise<unknown>;
}
async function startProcess(setup: RunsSetup): Promise<RunsProcess> {
  const child: ChildProcess = spawn(process.execPath, [PROCESS, JSON.stringify(setup)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  const exited = once(child, 'exit');
  const [incarnation] = (await Promise.race([
    once(createInterface({ input: child.stdout! }), 'line'),
    exited.then(([code]) => Promise.reject(new Error(`A process of runs ended with ${code}`))),
  ])) as [string];
  return {
    incarnation,
    work: (moment) => void child.stdin!.write(`${moment ?? ''}\n`),
    exited,
    kill: () => (child.kill('SIGKILL'), exited),
  };
}

/** Lets the claims of processes that are gone be over at once, and look-ups that wait for minutes be made now. */
async function endClaims({ sql }: TestDatabase, gone: readonly string[]): Promise<void> {
  for (const table of ['run_steps', 'media_jobs'])
    await sql`
      update ${sql(table)}
      set next_at = now()
      where incarnation = any(${[...gone]}::text[]) and next_at > now()`;
  await sql`
    update media_jobs
    set next_at = now()
    where state = 'queued' and sent_at is not null and incarnation is null and next_at > now()`;
}

/** The ledger of one organization, or of all: what was settled of each domain. */
async function settled({ sql }: TestDatabase, orgId?: string) {
  const rows = await sql<{ ref: string; kind: string; domain: string; micros: number; marked: boolean }[]>`
    select ref, kind, domain, micros::float8, marked
    from ai_ledger
    ${orgId === undefined ? sql`` : sql`where org_id = ${orgId}`}`;
  const calls = [...Map.groupBy(rows, ({ ref }) => ref).values()];
  const settlements = rows.filter(({ kind }) => kind === 'settlement');
  const of = (domain: string, marked: boolean) =>
    settlements.filter((one) => one.domain === domain && one.marked === marked).map(({ micros }) => micros);
  return {
    /** Each call was reserved, and ended once. */
    isWhole: calls.every(
      (ends) =>
        ends
          .map(({ kind }) => kind)
          .toSorted()
          .join() === 'release,reservation,settlement',
    ),
    texts: of('ai', false),
    unsureTexts: of('ai', true),
    jobs: of('media', false),
    unsureJobs: of('media', true),
    spent: settlements.reduce((sum, { micros }) => sum + micros, 0),
  };
}
const balance = async ({ sql }: TestDatabase, orgId?: string) =>
  (
    await sql<{ spent: number; reserved: number }[]>`
      select coalesce(sum(spent), 0)::float8 as spent, coalesce(sum(reserved), 0)::float8 as reserved
      from ai_spend
      where domain = '' and period = 'month' ${orgId === undefined ? sql`` : sql`and org_id = ${orgId}`}`
  )[0];

describe('a process that is killed', () => {
  let db: TestDatabase;
  let world: DesignerWorld;
  const MOMENTS = 9;
  const starting: Promise<RunsProcess>[] = [];
  beforeAll(async () => {
    db = await testDatabase({ connections: 8 });
    world = await designerWorld({ db });
  }, 60_000);
  afterAll(async () => {
    for (const one of starting) await (await one).kill();
    await world?.[Symbol.asyncDispose]();
    await db?.[Symbol.asyncDispose]();
  });

  let taken = 0;
  /** The next process, while the one after it starts. */
  function take(): Promise<RunsProcess> {
    const setup = { databaseUrl: db.url, folder: world.folder, servers: world.servers };
    while (starting.length < 2 && taken + starting.length < MOMENTS) starting.push(startProcess(setup));
    taken += 1;
    return starting.shift()!;
  }
  /** A session with this plan that is approved, and that nobody works on. */
  async function approved(steps: (channel: string) => object[]) {
    const person = await world.person({ prices: PRICES });
    world.script.plan = () => ({ message: 'Here is a plan', steps: steps(person.channel) });
    world.work();
    const id = await world.begin(person);
    await world.comes(person, id, 'awaiting_plan');
    await world.rest();
    expect((await world.act(person, id, 'approve-plan')).status).toBe(200);
    return { person, id };
  }
  /** Ends the session in this process, after another one has died on it. */
  async function ended(child: RunsProcess, person: Awaited<ReturnType<DesignerWorld['person']>>, id: string) {
    await child.exited;
    await endClaims(db, [child.incarnation]);
    world.work();
    const done = await world.comes(person, id, 'completed');
    const ledger = await settled(db, person.orgId);
    expect(await balance(db, person.orgId)).toEqual({ spent: ledger.spent, reserved: 0 });
    expect(ledger.isWhole).toBe(true);
    return { done, ledger };
  }

  // `asked`: questions of the step at the provider; `lost`: those whose answer nobody has; `marked`: settled by estimate
  test.each([
    ['claimed', { asked: 1, lost: 0, marked: 0 }],
    ['reserved', { asked: 1, lost: 0, marked: 1 }],
    ['sent', { asked: 2, lost: 1, marked: 1 }],
    ['answered', { asked: 2, lost: 1, marked: 1 }],
    ['drafted', { asked: 2, lost: 1, marked: 1 }],
    ['written', { asked: 1, lost: 0, marked: 0 }],
  ] as const)(
    'when a step that writes is %s leaves one draft, and each question is paid once or marked',
    async (moment, { asked, lost, marked }) => {
      const { person, id } = await approved((channel) => [
        step('first', 'copy', { channelIds: [channel] }),
        step('second', 'copy', { channelIds: [channel], dependsOn: ['first'] }),
      ]);
      const child = await take();
      const usual = world.script.copy;
      if (moment === 'sent')
        world.script.copy = async (told) => {
          if (world.script.copies.length > 1) return usual(told);
          await child.kill();
          return new Promise<never>(() => undefined);
        };
      child.work(moment === 'sent' ? undefined : moment);
      const { done, ledger } = await ended(child, person, id);
      const charged = world.chat.charged.map(({ tokens }) => tokens);
      expect(world.script.copies.filter(({ brief }) => brief === 'Make first')).toHaveLength(asked);
      expect(charged).toHaveLength(asked + 1);
      const known = ledger.texts.filter((micros) => charged.includes(micros));
      expect([known.length, ledger.unsureTexts.length]).toEqual([charged.length - lost, marked]);
      expect(new Set(known).size).toBe(known.length);
      expect(ledger.texts).toHaveLength(known.length + 1); // and the plan
      expect(done['assets']).toMatchObject([{ kind: 'draft' }, { kind: 'draft' }]);
      expect(await db.sql`select id from posts where org_id = ${person.orgId}`).toHaveLength(2);
    },
    60_000,
  );

  test.each(['submitted', 'done', 'kept'] as const)(
    'when the job of a step is %s leaves one file of one submit, which is paid once',
    async (moment) => {
      const name = `hero-${moment}`;
      const { person, id } = await approved(() => [step(name, 'image')]);
      const child = await take();
      const { maker } = world;
      const prompt = `Make ${name}`;
      maker.plan(prompt, {
        micros: 1_234,
        ...(moment === 'submitted' && { submit: 'hang-after' }),
        ...(moment === 'done' && { results: ['stalls'] }),
      });
      child.work(moment === 'kept' ? moment : undefined);
      if (moment !== 'kept') {
        await eventually('the provider is asked', () => maker.jobs(prompt).length === 1 && maker.held === 1);
        await child.kill();
        maker.release();
      }
      const { done, ledger } = await ended(child, person, id);
      expect(maker.submits(prompt)).toBe(1);
      expect([ledger.jobs, ledger.unsureJobs]).toEqual([[1_234], []]);
      expect(done['assets']).toMatchObject([{ kind: 'image' }]);
      expect(await db.sql`select id from files where org_id = ${person.orgId}`).toHaveLength(1);
    },
    60_000,
  );
});

const RUNS = sizeOf({ full: 500, short: 20 });
const KILLS = isFull ? 16 : 3;
const PEOPLE = isFull ? 10 : 3;
/** Questions and submits of a session, and of a content pipeline, when nothing is lost. */
const [OF_SESSION, OF_PIPELINE] = [4, 3];
const isPipeline = (n: number) => n % 3 === 0;
const twiceLost = /lost twice|begun too often/;
/** A submit that was under way at a kill, and that the provider does not list. */
const unknownSubmit = /did not answer: it may have been billed/;

test.each(rounds(1))(
  'round $round of $of: every run ends once over two processes that are killed at random, and the ledger is what was asked',
  async ({ round }) => {
    const dice = chance(`runs, round ${round}`);
    await using db = await testDatabase({ connections: 8 });
    await using world = await designerWorld({ db, env: UNHURRIED });
    const { sql } = db;
    const { chat, maker, script } = world;
    const setup = { databaseUrl: db.url, folder: world.folder, servers: world.servers, env: UNHURRIED };
    const starting = [startProcess(setup), startProcess(setup)];
    const answer = chat.before;
    chat.before = async (question, piece) => {
      await sleep(20 + dice.pick(80));
      return answer(question, piece);
    };
    script.plan = ({ messages, channels }) => {
      const [{ content: name }] = messages as [Told];
      const [{ id: channel }] = channels as [Told];
      const of = (kind: string) => ({ brief: `${kind} of ${name}` });
      return {
        message: 'Here is a plan',
        steps: [
          step('text', 'copy', { channelIds: [channel], ...of('Text') }),
          step('picture', 'image', of('Picture')),
          step('post', 'copy', { channelIds: [channel], dependsOn: ['picture'], ...of('Post') }),
        ],
      };
    };
    const people = await Promise.all(Array.from({ length: PEOPLE }, () => world.person({ prices: PRICES })));
    const owners = new Map<string, (typeof people)[number]>();
    for (let n = 0; n < RUNS; n += 1) {
      const person = people[n % PEOPLE]!;
      const topic = `run ${n}`;
      maker.plan(`Picture of ${topic}`, { polls: ['running', 'done'], micros: 1_000 + n });
      const { body } = isPipeline(n)
        ? await person.client.post('/ai/content-pipeline', { topic, channels: [person.channel] })
        : await person.client.post('/ai/designer/sessions', { prompt: topic });
      owners.set(body.id as string, person);
    }

    const total = Array.from({ length: RUNS }, (_, n) => (isPipeline(n) ? OF_PIPELINE : OF_SESSION));
    const asked = () => chat.charged.length + maker.all.size;
    const moments = Array.from({ length: KILLS }, () => dice.next() * 0.95 * total.reduce((sum, one) => sum + one, 0));
    const kills = moments.toSorted((a, b) => a - b);
    const alive = await Promise.all(starting);
    const gone: string[] = [];
    try {
      for (const one of alive) one.work();
      for (let isOpen = true; isOpen; await sleep(50)) {
        if (kills.length > 0 && asked() >= kills[0]!) {
          kills.shift();
          const [one] = alive.splice(dice.pick(alive.length), 1);
          await one!.kill();
          gone.push(one!.incarnation);
          const next = await startProcess(setup);
          next.work();
          alive.push(next);
        }
        await endClaims(db, gone);
        const waiting = await sql<{ id: string }[]>`select id from runs where state = 'awaiting_plan'`;
        await Promise.all(waiting.map(({ id }) => world.act(owners.get(id)!, id, 'approve-plan')));
        const underWay = await sql`
          select from runs where is_active
          union all -- the job of a step that was begun too often lives on without it
          select from media_jobs where state in ('queued', 'running', 'copying')
          limit 1`;
        isOpen = waiting.length > 0 || underWay.length > 0;
      }
    } finally {
      for (const one of alive) await one.kill();
    }

    // none twice: each step and each run has ended once, and so it was told
    const events = await sql`
      select run_id, kind, data - 'error' as data
      from run_events
      where kind in ('step', 'state')
      group by 1, 2, 3
      having count(*) > 1`;
    expect(events).toEqual([]);
    const gaps = await sql`
      select r.id
      from runs r
      where r.events <> (select count(*) from run_events e where e.run_id = r.id)
        or r.events <> (select max(n) from run_events e where e.run_id = r.id)`;
    expect(gaps).toEqual([]);
    const open = await sql`
      select s.name, s.state from run_steps s where s.state in ('waiting', 'running') or s.reservation is not null`;
    expect(open).toEqual([]);

    // what failed lost its answer twice, or waited for a job whose outcome is unknown
    const steps = await sql<{ id: string; name: string; state: string; error: string | null; output: Told }[]>`
      select id, name, state, error, output from run_steps`;
    const failed = steps.filter(({ state }) => state === 'failed');
    const withoutJob = failed.filter(({ name, error }) => name === 'picture' && unknownSubmit.test(error!));
    for (const one of failed) if (!withoutJob.includes(one)) expect(one.error).toMatch(twiceLost);
    const unknown = await sql`select from media_jobs where state = 'unknown'`;
    expect(withoutJob.length).toBeLessThanOrEqual(unknown.length);
    const states = await sql<{ state: string; n: number }[]>`
      select state, count(*)::int as n from runs group by state order by state`;
    note({ runs: states.map(({ state, n }) => `${n} ${state}`), kills: gone.length, asked: asked() });
    expect(states.reduce((sum, { n }) => sum + n, 0)).toBe(RUNS);

    // each draft once: those of steps that are done, and none but those of steps that were begun
    const drafts = steps.flatMap(({ output }) =>
      ((output?.['assets'] ?? []) as Told[]).filter(({ kind }) => kind === 'draft').map(({ id }) => id as string),
    );
    const posts = await sql<{ id: string }[]>`select id from posts`;
    const possible = new Set(
      steps.flatMap(({ id, name }) =>
        name === 'text' || name === 'post' ? people.map(({ channel }) => draftIdOf(id, channel)) : [],
      ),
    );
    const stored = new Set(posts.map(({ id }) => id));
    expect(drafts.filter((id) => !stored.has(id))).toEqual([]);
    expect(posts.filter(({ id }) => !possible.has(id))).toEqual([]);
    const unlisted = steps.filter(({ name, state }) => (name === 'text' || name === 'post') && state !== 'done');
    expect(posts.length - drafts.length).toBeLessThanOrEqual(unlisted.length);

    // the ledger is the wire
    const ledger = await settled(db);
    const charged = chat.charged.map(({ tokens }) => tokens);
    const lost = charged.length - ledger.texts.length;
    expect(ledger.texts.filter((micros) => !charged.includes(micros))).toEqual([]);
    expect(new Set(ledger.texts).size).toBe(ledger.texts.length);
    expect(lost).toBeGreaterThanOrEqual(0);
    expect(lost).toBeLessThanOrEqual(ledger.unsureTexts.length); // some died before they asked
    for (const [brief, questions] of Map.groupBy(script.copies, (told) => told['brief'] as string))
      expect([brief, questions.length <= 2]).toEqual([brief, true]);
    const jobs = await sql<{ state: string; prompt: string; billed: number | null; files: number }[]>`
      select j.state, j.request ->> 'prompt' as prompt, cardinality(j.file_ids) as files,
        (select l.micros::float8 from ai_ledger l where l.ref = j.reservation and l.kind = 'settlement') as billed
      from media_jobs j`;
    for (const { state, prompt, billed, files } of jobs) {
      expect(maker.submits(prompt)).toBeLessThanOrEqual(1);
      if (state === 'unknown') expect([maker.jobs(prompt).length, billed, files]).toEqual([0, null, 0]);
      else expect([state, billed, files]).toEqual(['done', 1_000 + Number(prompt.split(' ').at(-1)), 1]);
    }
    const { spent } = (await balance(db))!;
    expect(spent).toBe(ledger.spent);
    if (jobs.every(({ state }) => state === 'done')) expect(ledger.isWhole).toBe(true);
    expect((await sql`select from ai_reservations`).length).toBe(unknown.length);
  },
  isFull ? 1_800_000 : 240_000,
);
