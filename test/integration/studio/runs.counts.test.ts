import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { openDatabase } from '../../../src/platform/db/index.ts';
import { newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { sealCredentials } from '../../../src/publishing/channels/credentials.ts';
import { testApp, type TestApp } from '../../support/worlds/app.ts';
import { counted } from '../../support/worlds/counted.ts';
import { startScriptedAgents, willing } from '../../support/worlds/studio/scripted-agents.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { eventually, gate } from '../../support/wire/eventually.ts';

// Counts have no noise: what a step of a run costs in statements and commits. A budget may be lowered by anyone, raised
// only with a reason.

const stack = new AsyncDisposableStack();
/** Between two looks for what other processes began: it is over when somebody says so, and never by itself. */
const REST_MS = 5_000;
const clock = {
  ...systemClock,
  sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms === REST_MS ? 2 ** 31 - 1 : ms, signal),
};
let db: TestDatabase;
/** Not counted. */
let beside: TestDatabase['sql'];
let agents: Awaited<ReturnType<typeof startScriptedAgents>>;
let app: TestApp;
let ann: Awaited<ReturnType<TestApp['signUp']>>;
let channels: string[];

beforeAll(async () => {
  agents = stack.use(await startScriptedAgents());
  db = stack.use(await testDatabase());
  beside = stack.adopt(openDatabase({ url: db.url, connections: 2 }), (sql) => sql.end());
  app = stack.use(await testApp({ sql: db.sql, clock, env: { SSRF_ALLOWED_PRIVATE_CIDRS: '127.0.0.1/32' } }));
  await app.signUp(); // the super-admin
  ann = await app.signUp();
  const options = { models: 'm-1', textModel: 'm-1', prices: JSON.stringify({ 'm-1': { input: 1, output: 1 } }) };
  const provider = { domain: 'ai', providerId: 'openai-compatible', credentials: { baseUrl: agents.url }, options };
  expect((await ann.client.post('/providers/settings', provider)).status).toBe(201);
  await ann.client.put('/ai/budget', { monthlyCents: 100_000 });
  channels = [newId(), newId()];
  for (const id of channels)
    await beside`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
      values (${id}, ${ann.orgId}, 'mastodon', 'v1', ${id}, 'A channel',
        ${sealCredentials(app.context.vault, { account: id, values: {}, grantedAt: new Date() })})`;
}, 60_000);
afterAll(() => stack.disposeAsync());
beforeEach(() => {
  agents.replies = { ...willing };
});

async function begin(count: number): Promise<string> {
  const { status, body, text } = await ann.client.post('/ai/content-pipeline', {
    topic: 'A launch',
    count: 1,
    channels: channels.slice(0, count),
  });
  if (status !== 202) throw new Error(text);
  return body.id;
}
const stateOf = async (id: string) => (await beside`select state from runs where id = ${id}`)[0]!['state'] as string;
const ends = (id: string) => eventually('the run ends', async () => (await stateOf(id)) !== 'running');
/** What statements are, in the words of the tests. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/^with due as/, 'claim'],
  [/^with run as [^]*set reservation/, 'hold the step'],
  [/insert into ai_reservations/, 'reserve'],
  [/delete from ai_reservations/, 'settle'],
  [/from ai_budgets/, 'caps'],
  [/^with run as [^]*set state/, 'end the step'],
  [/from run_steps s\s+where s.org_id = \$1\s+and s.run_id = \$2\s+and s.round/, 'round'],
  [/^update run_steps/, 'next steps'],
  [/insert into run_events/, 'tell'],
  [/insert into ai_traces/, 'trace'],
];
const wordsOf = (texts: readonly string[]) =>
  texts.flatMap((text) => WORDS.find(([form]) => form.test(text.trim().replace(/^\/\*[^*]*\*\/\s*/, '')))?.[1] ?? []);

test('a step that asks is two commits beside its claim, one that does not is one; money is locked last', async () => {
  const id = await begin(1);
  const { commits, texts } = await counted(db.statements, async () => {
    await using _ = app.context.runs.start();
    await ends(id);
  });
  const [asks, ending] = [
    ['hold the step', 'reserve', 'caps'],
    ['end the step', 'round', 'next steps', 'tell', 'trace', 'settle', 'caps'],
  ];
  const [plain, last] = [ending.slice(0, 4), ['end the step', 'round', 'tell', 'tell']];
  const steps = [...asks, ...ending, ...asks, ...ending, ...plain, ...asks, ...ending, ...last];
  expect(wordsOf(texts)).toEqual(steps); // outline, write, fit, review, assemble
  expect(commits).toBe(3 * 2 + 2);
  // beside them: whom to ask, and whether the draft fits; what steps before it came to is known by its claim
  expect(texts.filter((text) => /from run_steps/.test(text)).length).toBe(5);
  expect(texts.length - steps.length).toBeLessThanOrEqual(3 + 3);
});

test('steps begin as soon as those before them have ended, also side by side; nobody waits for the next look', async () => {
  const id = await begin(2);
  await using _ = app.context.runs.start();
  await ends(id);
  expect(await stateOf(id)).toBe('done');
});

test('a step whose run is being written is taken up when that is done, though nobody says so', async () => {
  const id = await begin(1);
  const [locked, written] = [gate(), gate()];
  const writing = beside.begin(async (tx) => {
    await tx`select from runs where id = ${id} for no key update`;
    locked.open();
    await written.passed;
  });
  await locked.passed;
  db.statements.length = 0;
  await using _ = app.context.runs.start();
  const claims = () => wordsOf(db.statements).filter((word) => word === 'claim').length;
  await eventually('it was looked at', () => claims() > 0);
  written.open();
  await writing;
  await ends(id);
  expect(await stateOf(id)).toBe('done');
});

test('ten thousand waiting runs are not looked at: an idle process reads no row of them', async () => {
  await beside`
    with waiting as (
      insert into runs (id, org_id, kind, state, is_active, input)
      select gen_random_uuid(), ${ann.orgId}::uuid, 'content-pipeline', 'running', true, '{}'
      from generate_series(1, 10000)
      returning id, org_id
    )
    insert into run_steps (id, run_id, org_id, round, place, name, input, after, anyway, deadline_ms)
    select gen_random_uuid(), id, org_id, 1, place, 'step-' || place, '{}', '{}', false, 1000
    from waiting
    cross join generate_series(1, 2) place`;
  await beside`analyze runs, run_steps`;
  db.statements.length = 0;
  {
    await using _ = app.context.runs.start();
    await eventually('it has looked', () => wordsOf(db.statements).includes('claim'));
  }
  const claim = db.statements.find((text) => wordsOf([text])[0] === 'claim')!;
  const [row] = await beside.unsafe(
    `explain (analyze, format json) ${claim}`,
    [500, 128, ['content-pipeline'], 'x', 1_000, ['content-pipeline']],
    { prepare: true },
  );
  const reads = scansOf(row!['QUERY PLAN'][0].Plan).filter((one) => one['Actual Loops'] > 0);
  expect(reads.length).toBeGreaterThan(0);
  expect(reads.filter((one) => one['Node Type'] === 'Seq Scan' || one['Actual Rows'] > 0)).toEqual([]);
  await beside`delete from runs`;
});

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  Plans?: Plan[];
}
/** The reads of tables in a plan. */
const scansOf = (plan: Plan): Plan[] => [
  ...(plan['Relation Name'] !== undefined && plan['Node Type'].includes('Scan') ? [plan] : []),
  ...(plan.Plans ?? []).flatMap(scansOf),
];

/** A clock on which whoever sleeps for at most a second wakes when a test moves it on. */
function movedClock() {
  let ahead = 0;
  let moved = new AbortController();
  return {
    ...systemClock,
    monotonic: () => systemClock.monotonic() + ahead,
    sleep: (ms: number, signal?: AbortSignal) =>
      systemClock.sleep(ms <= 1_000 ? 2 ** 31 - 1 : ms, AbortSignal.any([moved.signal, ...(signal ? [signal] : [])])),
    move(ms: number) {
      ahead += ms;
      moved.abort();
      moved = new AbortController();
    },
  };
}

test('a look of a process for what others wrote is one statement, however many read in however many runs', async () => {
  const moved = movedClock();
  await using other = await testApp({ sql: db.sql, clock: moved });
  const runs = [await begin(1), await begin(1)] as const;
  const leaving = new AbortController();
  const people = Array.from({ length: 4 }, newId);
  const readings = people.flatMap((userId) =>
    [0, 0, 1, 1, 1].map((place) => {
      const how = { after: 0, ends: leaving.signal, mayRead: async () => true };
      const heard: string[] = [];
      const read = async () => {
        for await (const event of other.context.runs.follow({ orgId: ann.orgId, id: runs[place]!, userId }, how))
          heard.push(event === 'alive' ? event : `${event.kind} ${event.n}`);
      };
      return { run: runs[place]!, heard, reading: read() };
    }),
  );
  const hear = (last: string, run?: string) =>
    eventually(`they hear ${last}`, () =>
      readings.every((one) => (run ?? one.run) !== one.run || one.heard.at(-1) === last),
    );
  await hear('state 1');
  for (const id of runs)
    await beside.begin(async (tx) => {
      await tx`update runs set events = 2 where id = ${id}`;
      await tx`
        insert into run_events (run_id, org_id, n, kind, data)
        values (${id}, ${ann.orgId}, 2, 'news', '{}')`;
    });
  const looks = () => db.statements.filter((text) => /from run_events/.test(text)).length;
  db.statements.length = 0;
  moved.move(1_000);
  await hear('news 2');
  expect(looks()).toBe(1);
  // what this process writes is looked for at once, for those who read it
  db.statements.length = 0;
  await other.context.contentPipeline.cancel(ann.orgId, runs[1]);
  await hear('state 3', runs[1]);
  expect(looks()).toBe(1);
  await hear('news 2', runs[0]);
  leaving.abort();
  await Promise.all(readings.map(({ reading }) => reading));
});
