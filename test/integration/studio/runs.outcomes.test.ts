import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { ChatReply } from '../../support/peers/chat-server.ts';
import { refuseRows } from '../../support/wire/database/refused-row.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { clockWhere } from '../../support/worlds/publishing/world.ts';
import { type DesignerWorld, designerWorld, step, type Told } from '../../support/worlds/studio/designer-world.ts';

// Each kind of step against each outcome of its provider: what becomes of the run, what it costs, and what people read.

const FORM = 'The model answered nothing of the form asked for';
interface Outcome {
  reply: ChatReply;
  /** Questions at the provider. Those that ask for another form of an answer are one call with it. */
  asked: number;
  calls: number;
  /** What becomes of the money of each call; `marked`: nobody knows what was paid, so it is the estimate. */
  money: 'release' | 'settlement' | 'settlement marked';
  says: string;
}
const OUTCOMES: Record<string, Outcome> = {
  'a refusal': {
    reply: { status: 400, body: { error: { message: 'no' } } },
    asked: 1,
    calls: 1,
    money: 'release',
    says: 'OpenAI answered 400: no',
  },
  'a refusal of the key': {
    reply: { status: 401, body: { error: { message: 'bad key' } } },
    asked: 1,
    calls: 1,
    money: 'release',
    says: 'OpenAI answered 401: bad key',
  },
  'no more money at the provider': {
    reply: { status: 429, body: { error: { message: 'pay', code: 'insufficient_quota' } } },
    asked: 1,
    calls: 1,
    money: 'release',
    says: 'OpenAI answered 429: pay',
  },
  'too many requests, whenever it is asked': {
    reply: { status: 429, headers: { 'retry-after': '3' } },
    asked: 4,
    calls: 4,
    money: 'release',
    says: 'OpenAI answered 429: not now',
  },
  'no service, whenever it is asked': {
    reply: { status: 503, body: { error: { message: 'later' } } },
    asked: 4,
    calls: 4,
    money: 'release',
    says: 'OpenAI answered 503: later',
  },
  'a cut connection': { reply: 'cut', asked: 2, calls: 2, money: 'settlement marked', says: 'OpenAI did not answer' },
  'half of an answer': {
    reply: 'halved',
    asked: 2,
    calls: 2,
    money: 'settlement marked',
    says: 'OpenAI did not answer',
  },
  'no JSON': { reply: { content: 'Sure!' }, asked: 2, calls: 1, money: 'settlement', says: FORM },
  'another form': { reply: { content: '{"words":[]}' }, asked: 2, calls: 1, money: 'settlement', says: FORM },
  'an answer that its length has ended': {
    reply: { content: '{"texts":[{', end: 'length' },
    asked: 1,
    calls: 1,
    money: 'settlement',
    says: 'The model ended its answer before it was whole: it was too long',
  },
  'a refusal of the filter': {
    reply: { content: '', end: 'content_filter' },
    asked: 1,
    calls: 1,
    money: 'settlement',
    says: 'The filter of the model refused to answer',
  },
};

interface Kind {
  /** Calls of other steps of the run, which are answered. */
  others: number;
  state: 'failed' | 'done';
  /** Drafts that are there in the end. */
  drafts: number;
  /** Where a run that goes on says so; else it stands in `error`. */
  notes?: (says: string) => unknown[];
}
const FAILS = { state: 'failed', drafts: 0 } as const;
const KINDS = {
  plan: { others: 0, ...FAILS },
  copy: { others: 1, ...FAILS },
  read: { others: 0, ...FAILS },
  outline: { others: 0, ...FAILS },
  write: { others: 1, ...FAILS },
  // one of two drafts is too long
  shorten: {
    others: 3,
    state: 'done',
    drafts: 1,
    notes: (says) => [{ kind: 'dropped', message: expect.stringContaining(`A draft was dropped: ${says}`) }],
  },
  review: {
    others: 2,
    state: 'done',
    drafts: 2,
    notes: () => [{ kind: 'unreviewed' }, { kind: 'unreviewed' }],
  },
} satisfies Record<string, Kind>;
type KindName = keyof typeof KINDS;

/** Pauses that a provider asks for are short here. */
const clock = clockWhere((ms) => (ms > 900 && ms < 4_500 ? 20 : ms));
let db: TestDatabase;
let world: DesignerWorld;
const PAGE = `<article><h1>Roof</h1>${'<p>Bees live on the roof of the hall, and made honey.</p>'.repeat(5)}</article>`;
const site = createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE));
let pageUrl: string;
beforeAll(async () => {
  db = await testDatabase({ connections: 8 });
  world = await designerWorld({ db, clock });
  await once(site.listen(0, '127.0.0.1'), 'listening');
  pageUrl = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;
}, 60_000);
afterEach(() => world.rest());
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
  site.close();
});

const person = () => world.person({ prices: { 'gpt-5.4-mini': { input: 1, output: 1 } } });
type Person = Awaited<ReturnType<typeof person>>;

/** Runs a pipeline or a session to its end; its topic says which step is answered so. */
async function runTo(kind: KindName, ann: Person): Promise<Told> {
  if (kind === 'plan' || kind === 'copy') {
    const id = await world.begin(ann, { prompt: kind });
    if (kind === 'plan') return world.comes(ann, id, 'failed');
    await world.comes(ann, id, 'awaiting_plan');
    await world.act(ann, id, 'approve-plan');
    return world.comes(ann, id, 'failed');
  }
  const body = { topic: kind, count: 2, channels: [ann.channel], ...(kind === 'read' && { url: pageUrl }) };
  const begun = await ann.client.post('/ai/content-pipeline', body);
  if (begun.status !== 202) throw new Error(begun.text);
  let shown: Told = {};
  await eventually(`the run of ${kind} ends`, async () => {
    shown = (await ann.client.get(`/ai/content-pipeline/${begun.body.id}`)).body;
    return shown['state'] !== 'running';
  });
  return shown;
}

/** Lets each step that its run is named after be answered so; answers how often each was. */
function answer(reply: ChatReply): Map<KindName, number> {
  const asked = new Map<KindName, number>();
  const say = (kind: KindName) => {
    asked.set(kind, (asked.get(kind) ?? 0) + 1);
    return reply;
  };
  const { script } = world;
  script.plan = ({ messages, channels }) =>
    (messages as Told[])[0]!['content'] === 'plan'
      ? say('plan')
      : { message: 'Here', steps: [step('post', 'copy', { channelIds: [(channels as Told[])[0]!['id']] })] };
  script.copy = () => say('copy');
  const usual = { ...script.agents };
  const long: typeof usual.write = ({ data }) => ({
    texts: (data.posts as unknown[]).map((_, n) => (n === 0 ? 'It fits' : 'word '.repeat(400))),
  });
  for (const kind of ['read', 'outline', 'write', 'shorten', 'review'] as const)
    script.agents[kind] = (question) => {
      const { topic } = question.data;
      if (topic === kind) return say(kind) as object;
      return kind === 'write' && topic === 'shorten' ? long(question) : usual[kind](question);
    };
  return asked;
}

test.each(Object.entries(OUTCOMES))(
  '%s: each kind of step ends its run as it should, with the money of its calls, and says why [S191, S192]',
  async (_, { reply, asked, calls, money, says }) => {
    world.work();
    const kinds = Object.keys(KINDS) as KindName[];
    const people = new Map(await Promise.all(kinds.map(async (kind) => [kind, await person()] as const)));
    const counted = answer(reply);
    const shown = await Promise.all(kinds.map((kind) => runTo(kind, people.get(kind)!)));
    for (const [n, kind] of kinds.entries()) {
      const { others, state, drafts, notes }: Kind = KINDS[kind];
      const run = shown[n]!;
      const said = notes
        ? { error: null, notes: notes(says).map((note) => expect.objectContaining(note as object)) }
        : { error: expect.stringContaining(says) };
      expect({ kind, asked: counted.get(kind), ...run }).toMatchObject({ kind, asked, state, ...said });
      expect([kind, (run['drafts'] ?? run['assets']).length]).toEqual([kind, drafts]);
      const settled = others + (money === 'settlement' ? calls : 0);
      expect([kind, await world.ledger(people.get(kind)!)]).toEqual([
        kind,
        [
          `${others + calls} release`,
          `${others + calls} reservation`,
          ...(settled > 0 ? [`${settled} settlement`] : []),
          ...(money === 'settlement marked' ? [`${calls} settlement marked`] : []),
        ].filter((line) => !line.startsWith('0 ')),
      ]);
      const [held] = await db.sql<{ n: number }[]>`
        select count(*)::int as n from ai_reservations where org_id = ${people.get(kind)!.orgId}`;
      expect([kind, held!.n]).toEqual([kind, 0]);
    }
  },
  60_000,
);

test('an answer that came is no lost one for a step that is done again, since its draft could not be stored', async () => {
  world.work();
  const ann = await person();
  world.script.plan = () => ({ message: 'Here', steps: [step('post', 'copy', { channelIds: [ann.channel] })] });
  const id = await world.begin(ann);
  await world.comes(ann, id, 'awaiting_plan');
  {
    await using _refused = await refuseRows(db.sql, 'insert', 'posts', `new.org_id = '${ann.orgId}'`);
    await world.act(ann, id, 'approve-plan');
    for (const settled of [2, 3]) {
      await eventually('the try has failed', async () => (await world.ledger(ann)).includes(`${settled} settlement`));
      await db.sql`update run_steps set next_at = now() where run_id = ${id} and name = 'post'`;
      if (settled === 2) world.app.context.runs.announce(id);
    }
  }
  world.app.context.runs.announce(id);
  expect(await world.comes(ann, id, 'completed')).toMatchObject({ assets: [{ kind: 'draft' }] });
  expect(await world.ledger(ann)).toEqual(['4 release', '4 reservation', '4 settlement']);
});

test('a file that was made and cannot be kept here fails its step with the reason, and is waited for no more', async () => {
  world.work();
  const ann = await person();
  world.script.plan = () => ({ message: 'Here', steps: [step('hero', 'image')] });
  const id = await world.begin(ann);
  await world.comes(ann, id, 'awaiting_plan');
  await using _refused = await refuseRows(db.sql, 'insert', 'files', `new.org_id = '${ann.orgId}'`);
  await world.act(ann, id, 'approve-plan');
  await eventually('the job has failed', async () => {
    await db.sql`
      update media_jobs set next_at = now() where org_id = ${ann.orgId} and state = 'copying' and incarnation is null`;
    return (await db.sql`select from media_jobs where org_id = ${ann.orgId} and state = 'failed'`).length > 0;
  });
  expect(await world.comes(ann, id, 'failed')).toMatchObject({
    error: 'The result could not be kept on our side',
    steps: [{ id: 'hero', state: 'failed' }],
  });
});
