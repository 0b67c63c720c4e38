// oxlint-disable max-lines -- one world serves the whole life of a job
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { hmacHex } from '../../../src/platform/kernel/index.ts';
import { JWT_SECRET, type SignedUp, type TestApp } from '../../support/worlds/app.ts';
import { subscribe, WITH_BILLING } from '../../support/worlds/billing.ts';
import { BACKEND } from '../../support/worlds/media.ts';
import type { Maker, Plan } from '../../support/worlds/studio/media-maker.ts';
import { mediaJobsWorld, type MediaJobsWorld, setProvider } from '../../support/worlds/studio/media-jobs.ts';
import { formOf, HEADS, picture } from '../../support/worlds/samples.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { refuseRows } from '../../support/wire/database/refused-row.ts';
import { eventually } from '../../support/wire/eventually.ts';

// Jobs in everything that can happen to them. The worker is started by each test, in one process or in two.

let db: TestDatabase;
let world: MediaJobsWorld;
let maker: Maker;
let ann: SignedUp;
let setting: string;
beforeAll(async () => {
  db = await testDatabase({ connections: 8 });
  world = await mediaJobsWorld({ db });
  ({ maker } = world);
  ann = await world.app.signUp();
  setting = await setProvider(ann, 'maker');
});
const workers: AsyncDisposable[] = [];
afterEach(async () => {
  maker.release();
  for (const worker of workers.splice(0)) await worker[Symbol.asyncDispose]();
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
});

const work = (app = world.app) => void workers.push(app.context.mediaJobs.start());
let prompts = 0;
/** Starts a job of a prompt of its own without waiting. */
async function begin(plan: Plan = {}, body: object = {}, who = ann, path = 'generate-image') {
  const prompt = `prompt ${(prompts += 1)}`;
  maker.plan(prompt, plan);
  const asked = path === 'generate-video' ? { type: 'maker/video', customParams: { prompt, seconds: 5 } } : { prompt };
  const answer = await who.client.post(`/files/${path}`, { ...asked, ...body }, { prefer: 'respond-async' });
  if (answer.status !== 202) throw Object.assign(new Error(answer.text), { answer });
  return { id: answer.body.jobId as string, prompt };
}
const shown = async (id: string, who = ann) => (await who.client.get(`/files/jobs/${id}`)).body;
const kinds = async (id: string) => (await world.ledger(id)).map(({ kind }) => kind);
const told = async (id: string) => (await world.facts(id)).map(({ payload }) => payload.state);
const polls = (prompt: string) => maker.jobs(prompt)[0]?.polls ?? 0;

describe('a submit whose answer is lost', () => {
  test('is found where the provider lists its jobs, goes on, and is never sent again', async () => {
    work();
    const { id, prompt } = await begin({ submit: 'cut-after', micros: 12_000 });
    await world.comes(id, 'done');
    expect([maker.submits(prompt), maker.jobs(prompt)[0]!.key]).toEqual([1, id]);
    expect((await world.ledger(id)).at(-1)).toEqual({ kind: 'settlement', micros: 12_000, marked: false });
  });

  test.each(['cut-before', 'cut-after'] as const)(
    'is unknown where the provider cannot be asked (%s): told once, kept reserved, and settled by hand',
    async (submit) => {
      const ben = await world.app.signUp();
      await setProvider(ben, 'blind');
      work();
      const { id, prompt } = await begin({ submit }, {}, ben);
      await world.comes(id, 'unknown');
      expect(maker.submits(prompt)).toBe(1);
      expect(await shown(id, ben)).toMatchObject({
        state: 'failed',
        detail: 'unknown',
        error: expect.stringContaining('may have been billed'),
        settled: false,
      });
      expect([await kinds(id), await told(id)]).toEqual([['reservation'], ['unknown']]);
      const billed = submit === 'cut-after';
      const { status, body } = await ben.client.post(`/files/jobs/${id}/settle`, {
        billed,
        ...(billed && { cents: 3 }),
      });
      expect([status, body]).toMatchObject([200, { detail: 'unknown', settled: true }]);
      expect([body.costMicros, body.costSource]).toEqual(billed ? [30_000, 'reply'] : [0, null]);
      expect((await world.ledger(id)).at(-1)).toEqual(
        billed
          ? { kind: 'settlement', micros: 30_000, marked: false }
          : { kind: 'release', micros: -40_000, marked: false },
      );
      expect((await ben.client.post(`/files/jobs/${id}/settle`, { billed })).status).toBe(409);
      expect(await told(id)).toEqual(['unknown']);
    },
  );

  test('is settled by its estimate, marked, when nobody has done it in a week', async () => {
    const ben = await world.app.signUp();
    await setProvider(ben, 'blind');
    work();
    const { id } = await begin({ submit: 'cut-before' }, {}, ben);
    await world.comes(id, 'unknown');
    const { mediaJobs } = world.app.context;
    await db.sql`update media_jobs set ended_at = now() - interval '6 days 23 hours' where id = ${id}`;
    await mediaJobs.sweep(100);
    expect(await kinds(id)).toEqual(['reservation']);
    await db.sql`update media_jobs set ended_at = now() - interval '7 days 1 second' where id = ${id}`;
    await mediaJobs.sweep(100);
    expect((await world.ledger(id)).at(-1)).toEqual({ kind: 'settlement', micros: 40_000, marked: true });
    expect(await shown(id, ben)).toMatchObject({ costMicros: 40_000, costSource: 'estimate' });
  });

  test('counts with its estimate where the amount that somebody names is beyond all sense', async () => {
    const ben = await world.app.signUp();
    await setProvider(ben, 'blind');
    work();
    const { id } = await begin({ submit: 'cut-after' }, {}, ben);
    await world.comes(id, 'unknown');
    const { body } = await ben.client.post(`/files/jobs/${id}/settle`, { billed: true, cents: 4_001 });
    expect([body.costMicros, body.costSource]).toEqual([40_000, 'estimate']);
    expect((await world.ledger(id)).at(-1)).toMatchObject({ kind: 'settlement', micros: 40_000, marked: true });
  });
});

describe('a process that is gone', () => {
  test('before the submit has left: another submits it', async () => {
    const { id, prompt } = await begin();
    await db.sql`
      update media_jobs
      set submitted_at = now(), attempt = 1, claim = 1, incarnation = 'gone', next_at = now()
      where id = ${id}`;
    work();
    await world.comes(id, 'done');
    expect(maker.submits(prompt)).toBe(1);
  });

  test('before the handle: another looks the job up and goes on, and what the first learns later has no effect', async () => {
    await using second = await world.open();
    work();
    const { id, prompt } = await begin({ submit: 'hang-after' });
    await eventually('the submit hangs', () => maker.held === 1);
    await world.loses(id);
    work(second);
    await world.comes(id, 'done');
    maker.release();
    expect([maker.submits(prompt), await told(id)]).toEqual([1, ['done']]);
  });

  test('before the handle, where the provider cannot be asked: the job is unknown and not sent again', async () => {
    const ben = await world.app.signUp();
    await setProvider(ben, 'blind');
    await using second = await world.open();
    work();
    const { id, prompt } = await begin({ submit: 'hang-after' }, {}, ben);
    await eventually('the submit hangs', () => maker.held === 1);
    await world.loses(id);
    work(second);
    await world.comes(id, 'unknown');
    expect(maker.submits(prompt)).toBe(1);
  });

  test('in a poll: another asks, and the answer that comes late to the first has no effect', async () => {
    await using second = await world.open();
    work();
    const { id, prompt } = await begin({ polls: ['hang', 'done'] });
    await eventually('the poll hangs', () => polls(prompt) === 1);
    await world.loses(id);
    work(second);
    await world.comes(id, 'done');
    expect([await told(id), (await shown(id)).result.length]).toEqual([['done'], 1]);
  });

  test('in a copy: another goes on behind the results that are there, and none comes twice', async () => {
    await using second = await world.open();
    const { id } = await begin({ results: ['picture', 'picture?n=2'] });
    work();
    await world.comes(id, 'done');
    const first = (await shown(id)).result as { id: string }[];
    // as it was when the first of two results had been copied
    await db.sql`
      update media_jobs
      set state = 'copying', ended_at = null, file_ids = file_ids[1:1], next_at = now(), incarnation = 'gone',
        setting_id = ${setting},
        outputs = ${db.sql.json([
          { kind: 'image', url: `${maker.url}/results/picture` },
          { kind: 'image', url: `${maker.url}/results/picture` },
        ])}
      where id = ${id}`;
    for (const worker of workers.splice(0)) await worker[Symbol.asyncDispose]();
    work(second);
    await world.comes(id, 'done');
    const { result } = await shown(id);
    expect([result.length, result[0].id]).toEqual([2, first[0]!.id]);
    expect(await kinds(id)).toEqual(['reservation', 'release', 'settlement']);
  });

  test('two processes that work on the same jobs submit each of them once, and copy each result once', async () => {
    await using second = await world.open();
    const all = await Promise.all(Array.from({ length: 12 }, () => begin({ polls: ['running', 'done'] })));
    work();
    work(second);
    for (const { id } of all) await world.comes(id, 'done');
    expect(all.map(({ prompt }) => maker.submits(prompt))).toEqual(all.map(() => 1));
    expect(await Promise.all(all.map(async ({ id }) => (await shown(id)).result.length))).toEqual(all.map(() => 1));
  });
});

describe('results', () => {
  const bad: [string, Plan['results'], object][] = [
    ['that the provider no longer has', ['gone'], { code: 'provider_failed', error: 'no longer has the result (403)' }],
    ['that is too large', ['large'], { code: 'too_large', error: 'larger than 1000000 bytes' }],
    ['whose content is a page', ['page'], { code: 'unsupported_media', error: 'not accepted' }],
    ['of another kind than was asked for', ['film'], { code: 'unsupported_media', error: 'kind video, not image' }],
    ['at a private address', ['http://10.0.0.1/a.png'], { code: 'provider_failed', error: 'may not be asked' }],
    ['that is none', [], { code: 'provider_failed', error: 'no result' }],
  ];
  test.each(bad)(
    'a result %s fails the job, which stays billed, and nothing is kept',
    async (_what, results, expected) => {
      const { code, error } = expected as Record<string, string>;
      work();
      const { id } = await begin({ results: results!, micros: 20_000 });
      await world.comes(id, 'failed');
      expect(await shown(id)).toMatchObject({ detail: 'failed', error: expect.stringContaining(error!), result: null });
      expect((await world.row(id))['error_code']).toBe(code);
      expect((await world.ledger(id)).at(-1)).toEqual({ kind: 'settlement', micros: 20_000, marked: false });
      expect(await told(id)).toEqual(['failed']);
    },
  );

  test('a result whose server stumbles is fetched again', async () => {
    work();
    const { id } = await begin({ results: ['stumbles'] });
    await eventually('the copy is to be repeated', async () => (await world.row(id))['tries'] === 1);
    await world.loses(id);
    await world.comes(id, 'done');
  });
});

describe('POST /files/jobs/callback/:token', () => {
  /** The address that the provider was given. */
  const addressOf = (prompt: string) => String(maker.jobs(prompt)[0]!.body['callbackUrl']);

  test('makes the next poll come now, and nothing else; a repeated one changes nothing', async () => {
    const ben = await world.app.signUp();
    await setProvider(ben, 'slow');
    work();
    const { id, prompt } = await begin({ polls: ['running', 'done'] }, {}, ben);
    await world.comes(id, 'running');
    const inHour = (await world.row(id))['next_at'] as Date;
    expect(polls(prompt)).toBe(0);
    const path = new URL(addressOf(prompt)).pathname;
    const visitor = world.app.client();
    const lie = { status: 'succeeded', output: 'https://elsewhere.example/a.png' };
    expect((await visitor.post(path, lie)).body).toEqual({ received: true });
    await eventually('the poll', () => polls(prompt) === 1);
    await eventually('it waits for the next', async () => (await world.row(id))['incarnation'] === null);
    const { state, next_at: next } = await world.row(id);
    expect([state, (next as Date) > inHour]).toEqual(['running', true]);
    expect((await visitor.post(path, lie)).status).toBe(200);
    expect((await world.row(id))['next_at']).toEqual(next);
  });

  test('is at the address of the service, and signed by JWT_SECRET', async () => {
    work();
    const { id, prompt } = await begin();
    await world.comes(id, 'done');
    const signature = hmacHex(hmacHex(JWT_SECRET, 'callbacks of media jobs'), `callback ${id}`).slice(0, 48);
    expect(addressOf(prompt)).toBe(`${BACKEND}/files/jobs/callback/${id}.${signature}`);
  });

  test('changes nothing while the answer of the submit is missing', async () => {
    await using second = await world.open();
    work();
    const { id, prompt } = await begin({ submit: 'hang-after' });
    await eventually('the submit hangs', () => maker.held === 1);
    const known = async () => {
      const { state, handle, claim, incarnation, callback_at: heard } = await world.row(id);
      return { state, handle, claim, incarnation, heard };
    };
    const before = await known();
    expect(before).toMatchObject({ state: 'queued', handle: null, heard: null });
    expect((await world.app.client().post(new URL(addressOf(prompt)).pathname, {})).status).toBe(200);
    expect([await known(), polls(prompt)]).toEqual([before, 0]);
    await world.loses(id);
    work(second);
    await world.comes(id, 'done');
    maker.release();
    expect([maker.submits(prompt), await told(id)]).toEqual([1, ['done']]);
  });

  test('is named to no provider by a server that nobody outside can reach, which asks', async () => {
    await using home = await world.open({ env: { NEXT_PUBLIC_BACKEND_URL: 'http://localhost:4007' } });
    work(home);
    const { id, prompt } = await begin({ polls: ['running', 'done'] });
    await world.comes(id, 'done');
    expect([maker.jobs(prompt)[0]!.body['callbackUrl'], polls(prompt)]).toEqual([undefined, 2]);
  });

  test('a forged token is 404, and a late one changes nothing', async () => {
    const { id } = await begin();
    const visitor = world.app.client();
    const before = await world.row(id);
    for (const token of ['x', `${id}.`, `${id}.${'0'.repeat(48)}`, id])
      expect((await visitor.post(`/files/jobs/callback/${token}`, {})).status).toBe(404);
    work();
    await world.comes(id, 'done');
    const { prompt } = before['request'] as { prompt: string };
    const ended = await world.row(id);
    const path = new URL(addressOf(prompt)).pathname;
    expect((await visitor.post(path, {})).status).toBe(200);
    expect(await world.row(id)).toEqual(ended);
    await using other = await world.open({ env: { JWT_SECRET: 'the secret of another deployment' } });
    expect((await other.client().post(path, {})).status).toBe(404);
  });
});

describe('providers that cannot', () => {
  test('a failure that leaves nothing behind goes on to the next provider, with its own reservation', async () => {
    const ben = await world.app.signUp();
    await setProvider(ben, 'maker');
    await setProvider(ben, 'spare');
    work();
    const { id, prompt } = await begin({ submit: [{ status: 402 }, 'accept'], micros: 9_000 }, {}, ben);
    await world.comes(id, 'done');
    expect([maker.submits(prompt), (await shown(id, ben)).providerId]).toEqual([2, 'spare']);
    expect(await world.ledger(id)).toMatchObject([
      { kind: 'reservation' },
      { kind: 'release' },
      { kind: 'settlement', micros: 9_000 },
    ]);
    const left = await db.sql`select from ai_reservations where org_id = ${ben.orgId}`;
    expect(left).toHaveLength(0);
  });

  test.each([
    ['whose cap has no room is passed: the one behind it is asked', true],
    ['whose cap has no room leaves the failure of the one before it, where nobody is behind it', false],
  ])('a next provider %s [S194]', async (_, hasThird) => {
    const ben = await world.app.signUp();
    for (const id of hasThird ? ['maker', 'spare', 'blind'] : ['maker', 'spare']) await setProvider(ben, id);
    const cap = { domain: 'media', providerId: 'spare', dailyCents: 0, monthlyCents: null };
    expect((await ben.client.put('/ai/budget', { providers: [cap] })).status).toBe(200);
    const { id, prompt } = await begin({ submit: [{ status: 402 }, 'accept'], micros: 9_000 }, {}, ben);
    work();
    await world.comes(id, hasThird ? 'done' : 'failed');
    expect(await world.row(id)).toMatchObject(
      hasThird ? { provider_id: 'blind', error: null } : { provider_id: 'maker', error_code: 'provider_failed' },
    );
    expect(maker.submits(prompt)).toBe(hasThird ? 2 : 1);
    expect(await db.sql`select from ai_reservations where org_id = ${ben.orgId}`).toHaveLength(0);
  });

  test('a provider that cannot be reached goes on to the next provider', async () => {
    await using away = await world.open({ servers: { ...maker.servers, 'media/maker': 'http://127.0.0.1:1' } });
    const ben = await away.signUp();
    await setProvider(ben, 'maker');
    await setProvider(ben, 'spare');
    work(away);
    const { id, prompt } = await begin({ micros: 9_000 }, {}, ben);
    expect((await world.row(id))['provider_id']).toBe('maker');
    await world.comes(id, 'done');
    expect([maker.submits(prompt), (await shown(id, ben)).providerId]).toEqual([1, 'spare']);
    expect(await kinds(id)).toEqual(['reservation', 'release', 'settlement']);
  });

  test.each([
    ['rate_limited', 429],
    ['reauthorize', 401],
  ])('%s goes on to the next provider', async (_failure, status) => {
    const ben = await world.app.signUp();
    await setProvider(ben, 'maker');
    await setProvider(ben, 'spare');
    work();
    const { id, prompt } = await begin({ submit: [{ status }, 'accept'], micros: 9_000 }, {}, ben);
    await world.comes(id, 'done');
    expect([maker.submits(prompt), (await shown(id, ben)).providerId]).toEqual([2, 'spare']);
    expect(await kinds(id)).toEqual(['reservation', 'release', 'settlement']);
  });

  test.each(['cut-before', 'cut-after'] as const)(
    'a submit whose answer is lost (%s) may have been billed, and does not go on',
    async (submit) => {
      const ben = await world.app.signUp();
      await setProvider(ben, 'blind');
      await setProvider(ben, 'spare');
      work();
      const { id, prompt } = await begin({ submit: [submit, 'accept'] }, {}, ben);
      await world.comes(id, 'unknown');
      expect([maker.submits(prompt), (await shown(id, ben)).providerId]).toEqual([1, 'blind']);
      expect(await kinds(id)).toEqual(['reservation']);
    },
  );

  test('a refusal of the content does not go on', async () => {
    const ben = await world.app.signUp();
    await setProvider(ben, 'maker');
    await setProvider(ben, 'spare');
    work();
    const { id, prompt } = await begin({ submit: { status: 422 } }, {}, ben);
    await world.comes(id, 'failed');
    expect([maker.submits(prompt), await kinds(id)]).toEqual([1, ['reservation', 'release']]);
  });

  test('a provider that asks to wait is asked again after that', async () => {
    work();
    const { id, prompt } = await begin({ submit: [{ status: 429, wait: '1' }, 'accept'] });
    await eventually('the first submit', () => maker.submits(prompt) === 1);
    await eventually('it waits', async () => (await world.row(id))['submitted_at'] === null);
    await world.loses(id);
    await world.comes(id, 'done');
    expect(maker.submits(prompt)).toBe(2);
  });

  test('a job that does not end in the time of its provider is told to stop, and settled by its estimate, marked', async () => {
    work();
    const { id, prompt } = await begin({ polls: ['running'] });
    await world.comes(id, 'running');
    await db.sql`update media_jobs set deadline_at = now(), next_at = now() where id = ${id}`;
    await world.comes(id, 'failed');
    await eventually('it is told to stop', () => maker.jobs(prompt)[0]!.cancels === 1);
    expect(await shown(id)).toMatchObject({
      error: expect.stringContaining('did not end in 10 minutes and was told to stop'),
    });
    expect((await world.ledger(id)).at(-1)).toEqual({ kind: 'settlement', micros: 40_000, marked: true });
  });

  test('the error of a job of a provider that cannot be told to stop says so', async () => {
    work();
    const ben = await world.app.signUp();
    await setProvider(ben, 'blind');
    const { id } = await begin({ polls: ['running'] }, {}, ben);
    await world.comes(id, 'running');
    await db.sql`update media_jobs set deadline_at = now(), next_at = now() where id = ${id}`;
    await world.comes(id, 'failed');
    expect(await shown(id, ben)).toMatchObject({ error: expect.stringContaining('cannot be told to stop') });
  });

  test('a provider that is too busy to be told to stop is told again', async () => {
    work();
    const { id, prompt } = await begin({ polls: ['running'], stops: [429] });
    await world.comes(id, 'running');
    await ann.client.delete(`/files/jobs/${id}`);
    await world.comes(id, 'cancelled');
    await eventually('it was told', () => maker.jobs(prompt)[0]!.cancels === 1);
    await eventually('it waits', async () => (await world.row(id))['incarnation'] === null);
    await world.loses(id);
    await eventually('it was told again', () => maker.jobs(prompt)[0]!.cancels === 2);
  });

  test('polls that fail are repeated', async () => {
    work();
    const { id, prompt } = await begin({ polls: [503, 'done'] });
    await eventually('the poll has failed', () => polls(prompt) >= 1);
    await eventually('it waits', async () => (await world.row(id))['incarnation'] === null);
    await world.loses(id);
    await world.comes(id, 'done');
  });

  test('of one organization at most eight run at a provider, and others are not kept waiting', async () => {
    const ben = await world.app.signUp();
    await setProvider(ben, 'maker');
    const mine = await Promise.all(Array.from({ length: 10 }, () => begin({ polls: ['running'] })));
    work();
    const running = async () =>
      (
        await db.sql`
        select from media_jobs where org_id = ${ann.orgId} and submitted_at is not null and ended_at is null`
      ).length;
    await eventually('eight run', async () => (await running()) === 8);
    const other = await begin({}, {}, ben);
    await world.comes(other.id, 'done');
    expect(await running()).toBe(8);
    for (const { id } of mine) await ann.client.delete(`/files/jobs/${id}`);
    for (const { id } of mine) await world.comes(id, 'cancelled');
  });

  test('jobs of an organization that is disabled wait until it is in use again [S211]', async () => {
    const ben = await world.app.signUp();
    await setProvider(ben, 'maker');
    const { id, prompt } = await begin({}, {}, ben);
    await db.sql`update organizations set disabled_at = now() where id = ${ben.orgId}`;
    work();
    const other = await begin();
    await world.comes(other.id, 'done');
    expect(maker.submits(prompt)).toBe(0);
    await db.sql`update organizations set disabled_at = null where id = ${ben.orgId}`;
    await world.comes(id, 'done');
  });

  test('a job whose organization was disabled for a day fails with that among its reasons, unpaid', async () => {
    const ben = await world.app.signUp();
    await setProvider(ben, 'maker');
    const { id } = await begin({}, {}, ben);
    await db.sql`update organizations set disabled_at = now() where id = ${ben.orgId}`;
    await db.sql`update media_jobs set deadline_at = now() - interval '1 second' where id = ${id}`;
    await world.app.context.mediaJobs.sweep(100);
    expect(await world.row(id)).toMatchObject({ state: 'failed', error: expect.stringContaining('disabled') });
    expect(await kinds(id)).toEqual(['reservation', 'release']);
  });

  test('a provider that hangs holds its own jobs alone', async () => {
    const people = await Promise.all(Array.from({ length: 8 }, () => world.app.signUp()));
    for (const person of people) await setProvider(person, 'maker');
    const each = people.flatMap((person) =>
      Array.from({ length: 8 }, () => begin({ submit: 'hang-after' }, {}, person)),
    );
    await Promise.all(each);
    work();
    await eventually('as many hang as are asked at once', () => maker.held === 64);
    const ben = await world.app.signUp();
    await setProvider(ben, 'spare');
    const other = await begin({}, {}, ben);
    await world.comes(other.id, 'done');
    expect(maker.held).toBe(64);
  });

  test('the next provider of a transcription is reserved for as long as the sound lasts', async () => {
    const ben = await world.app.signUp();
    for (const [id, perSecond] of [
      ['maker', 0.01],
      ['spare', 0.02],
    ] as const)
      await setProvider(ben, id, { prices: JSON.stringify({ 'hear-1': { perSecond } }) });
    const sound = formOf(HEADS['mp3']!, { name: 'a.mp3', type: 'audio/mpeg' });
    const { body: file } = await ben.client.post('/files/upload-simple', sound);
    const segments = [{ from: 0, to: 1, text: 'Good morning' }];
    maker.plan('', { submit: [{ status: 402 }, 'accept'], results: [], segments });
    work();
    expect((await ben.client.post('/files/captions', { fileId: file.id })).status).toBe(201);
    const [first, second] = await db.sql<{ providerId: string; micros: number }[]>`
      select provider_id as "providerId", micros::float8
      from ai_ledger
      where org_id = ${ben.orgId} and kind = 'reservation'
      order by at`;
    expect([first!.providerId, second!.providerId, first!.micros > 0]).toEqual(['maker', 'spare', true]);
    expect(second!.micros / first!.micros).toBeCloseTo(2, 1);
  });

  test('a setting is in use while a job needs it, and free afterwards', async () => {
    const ben = await world.app.signUp();
    const own = await setProvider(ben, 'maker');
    work();
    const { id } = await begin({ polls: ['running'] }, {}, ben);
    await world.comes(id, 'running');
    expect((await ben.client.delete(`/providers/settings/${own}`)).status).toBe(409);
    await ben.client.delete(`/files/jobs/${id}`);
    await world.comes(id, 'cancelled');
    await eventually('the setting is free', async () => (await world.row(id))['setting_id'] === null);
    expect((await ben.client.delete(`/providers/settings/${own}`)).status).toBe(200);
  });
});

test('neither a prompt nor what comes of it is in a log', async () => {
  const ben = await world.app.signUp();
  for (const id of ['maker', 'blind']) await setProvider(ben, id);
  work();
  const ends: [string, Plan, string][] = [
    ['maker', { submit: { status: 422 } }, 'failed'],
    ['maker', { polls: [503, 'failed'] }, 'failed'],
    ['maker', { results: ['page'] }, 'failed'],
    ['maker', {}, 'done'],
    ['blind', { submit: 'cut-after' }, 'unknown'],
  ];
  for (const [n, [providerId, plan, state]] of ends.entries()) {
    const prompt = `zebulon on hill ${n}`;
    maker.plan(prompt, plan);
    const asked = { prompt, providerId };
    const { body } = await ben.client.post('/files/generate-image', asked, { prefer: 'respond-async' });
    await eventually(`${prompt} is ${state}`, async () => {
      await db.sql`update media_jobs set next_at = now() where id = ${body.jobId} and incarnation is null and next_at > now()`;
      return (await world.row(body.jobId))['state'] === state;
    });
  }
  const everything = { depth: 9, maxArrayLength: null, maxStringLength: null };
  expect(inspect([world.app.log.all, world.app.answered], everything)).not.toContain('zebulon');
});

describe('limits', () => {
  test('of one organization at most 200 jobs wait: one more is 429 with a wait, and takes nothing', async () => {
    const ben = await world.app.signUp();
    await setProvider(ben, 'maker');
    const { id } = await begin({}, {}, ben);
    await db.sql`
      insert into media_jobs (id, org_id, operation, provider_id, provider_version, own_setting, request, input_hash,
        reservation, is_export, next_at, deadline_at)
      select gen_random_uuid(), j.org_id, j.operation, j.provider_id, j.provider_version, j.own_setting, j.request,
        j.input_hash, gen_random_uuid(), false, j.next_at, j.deadline_at
      from media_jobs j, generate_series(1, 198)
      where j.id = ${id}`;
    await begin({}, {}, ben);
    const reserved = () => db.sql`select from ai_reservations where org_id = ${ben.orgId}`;
    expect(await reserved()).toHaveLength(2);
    const answer = await ben.client.post('/files/generate-image', { prompt: 'one more' });
    expect([answer.status, answer.body.code]).toEqual([429, 'rate_limited']);
    expect(Number(answer.headers.get('retry-after'))).toBe(60);
    expect(await reserved()).toHaveLength(2);
    await ben.client.delete(`/files/jobs/${id}`);
    await begin({}, {}, ben);
    await db.sql`delete from media_jobs where org_id = ${ben.orgId}`;
  });

  test('a cap is kept by the reservations of jobs: what has no room is 402 and is not submitted [S194]', async () => {
    const ben = await world.app.signUp();
    await setProvider(ben, 'maker');
    await world.app.context.budget.change(
      ben.orgId,
      { dailyCents: 9 },
      { userId: ben.userId, impersonatorId: null, ip: null },
    );
    const first = [await begin({}, {}, ben), await begin({}, {}, ben)];
    await expect(begin({}, {}, ben)).rejects.toMatchObject({
      answer: { status: 402, body: { code: 'limit_exceeded', limit: 'ai_budget' } },
    });
    work();
    for (const { id } of first) await world.comes(id, 'done');
    expect(await db.sql`select from media_jobs where org_id = ${ben.orgId}`).toHaveLength(2);
  });

  /** Somebody who has one export a month, at this provider. */
  async function exporter(paid: TestApp, providerId = 'maker') {
    const who = await paid.signUp();
    await subscribe(db.sql, who.orgId, { tier: 'STARTER' });
    await db.sql`update organizations set limit_overrides = '{"video_exports": 1}' where id = ${who.orgId}`;
    await setProvider(who, providerId);
    const used = async () => (await who.client.get('/billing')).body.limits.video_exports.used as number;
    return { who, used };
  }

  test('a video takes one of the exports of the month, and a failed one gives it back [LM18]', async () => {
    await using paid = await world.open({ env: WITH_BILLING });
    const { who: ben, used } = await exporter(paid);
    work(paid);
    const failed = await begin({ polls: ['failed'] }, {}, ben, 'generate-video');
    await world.comes(failed.id, 'failed');
    expect(await used()).toBe(0);
    const made = await begin({ results: ['film'] }, {}, ben, 'generate-video');
    await world.comes(made.id, 'done');
    expect(await used()).toBe(1);
    await expect(begin({}, {}, ben, 'generate-video')).rejects.toMatchObject({
      answer: { status: 402, body: { code: 'limit_exceeded', limit: 'video_exports' } },
    });
    await db.sql`update credits set created_at = created_at - interval '32 days' where org_id = ${ben.orgId}`;
    expect(await used()).toBe(0);
  });

  test('a video that is cancelled gives its export back, waiting or running [LM18]', async () => {
    await using paid = await world.open({ env: WITH_BILLING });
    const { who: ben, used } = await exporter(paid);
    const waiting = await begin({}, {}, ben, 'generate-video');
    expect(await used()).toBe(1);
    await ben.client.delete(`/files/jobs/${waiting.id}`);
    expect([await used(), (await shown(waiting.id, ben)).detail]).toEqual([0, 'cancelled']);
    work(paid);
    const running = await begin({ polls: ['running'] }, {}, ben, 'generate-video');
    await world.comes(running.id, 'running');
    expect(await used()).toBe(1);
    await ben.client.delete(`/files/jobs/${running.id}`);
    await world.comes(running.id, 'cancelled');
    expect(await used()).toBe(0);
  });

  test.each([
    [false, 0],
    [true, 1],
  ])(
    'a video of unknown outcome keeps its export until it is settled; billed: %s leaves %i [LM18]',
    async (billed, left) => {
      await using paid = await world.open({ env: WITH_BILLING });
      const { who: ben, used } = await exporter(paid, 'blind');
      work(paid);
      const { id } = await begin({ submit: 'cut-after' }, { type: 'blind/video' }, ben, 'generate-video');
      await world.comes(id, 'unknown');
      expect(await used()).toBe(1);
      expect((await ben.client.post(`/files/jobs/${id}/settle`, { billed })).status).toBe(200);
      expect(await used()).toBe(left);
    },
  );

  test.each([
    ['a video', 1],
    ['a picture', 0],
  ])('what is made of %s by a change takes this many exports: %i [LM18]', async (what, taken) => {
    await using paid = await world.open({ env: WITH_BILLING });
    const { who: ben, used } = await exporter(paid);
    const form =
      what === 'a video'
        ? formOf(HEADS['mp4']!, { name: 'a.mp4', type: 'video/mp4' })
        : formOf(await picture(8, 8), { name: 'a.png', type: 'image/png' });
    const { id: source } = (await ben.client.post('/files/upload-simple', form)).body;
    const change = () => ben.client.post('/files/jobs', { operation: 'upscale', sources: [source] });
    expect((await change()).status).toBe(202);
    expect(await used()).toBe(taken);
    expect((await change()).status).toBe(taken ? 402 : 202);
  });

  test('without room in the storage nothing is submitted, and a result that has none fails the job [S5]', async () => {
    await using paid = await world.open({ env: WITH_BILLING });
    const ben = await paid.signUp();
    await subscribe(db.sql, ben.orgId, { tier: 'STARTER' });
    await setProvider(ben, 'maker');
    const { id } = await begin({ micros: 5_000 }, {}, ben);
    await db.sql`update org_counters set storage_bytes = ${1024 ** 3} where org_id = ${ben.orgId}`;
    await expect(begin({}, {}, ben)).rejects.toMatchObject({
      answer: { status: 402, body: { code: 'limit_exceeded', limit: 'storage_gb' } },
    });
    work(paid);
    await world.comes(id, 'failed');
    await expect(paid.context.mediaJobs.wait(ben.orgId, id, { ms: 0 })).rejects.toMatchObject({
      code: 'limit_exceeded',
      extra: { jobId: id, limit: 'storage_gb', max: 1 },
    });
  });
});

describe('cost', () => {
  test('polls that are due together are claimed by one statement, and open their provider once', async () => {
    const ben = await world.app.signUp();
    await setProvider(ben, 'slow');
    work();
    const all = await Promise.all(Array.from({ length: 6 }, () => begin({ polls: ['running'] }, {}, ben)));
    for (const { id } of all) await world.comes(id, 'running');
    for (const worker of workers.splice(0)) await worker[Symbol.asyncDispose]();
    await db.sql`update media_jobs set next_at = now() where org_id = ${ben.orgId}`;
    db.statements.length = 0;
    work();
    await eventually('each was polled and waits', async () => {
      const waiting = await db.sql`
        select from media_jobs where org_id = ${ben.orgId} and tries = 1 and incarnation is null`;
      return waiting.length === 6;
    });
    for (const worker of workers.splice(0)) await worker[Symbol.asyncDispose]();
    const sent = (form: RegExp) => db.statements.filter((text) => form.test(text)).length;
    expect(all.map(({ prompt }) => polls(prompt))).toEqual([1, 1, 1, 1, 1, 1]);
    expect(sent(/from provider_settings/)).toBe(1);
    expect(sent(/coalesce\(t\.progress/)).toBeLessThanOrEqual(6);
  });

  test('one that cannot be ended holds up no other, nor what is swept behind it', async () => {
    const [bad, good] = [await begin(), await begin()]; // nobody works on them
    await db.sql`update media_jobs set deadline_at = now() - interval '1 h' where id = ${bad.id}`;
    await db.sql`update media_jobs set deadline_at = now() - interval '1 min' where id = ${good.id}`;
    const old = await begin();
    await db.sql`
      update media_jobs
      set state = 'failed', settled_at = now(), next_at = null, ended_at = now() - interval '400 days'
      where id = ${old.id}`;
    const states = async () =>
      (
        await db.sql`
      select state from media_jobs where id in (${bad.id}, ${good.id}, ${old.id}) order by deadline_at`
      ).map((row) => row['state']);
    {
      await using _refused = await refuseRows(db.sql, 'update', 'media_jobs', `old.id = '${bad.id}'`);
      await world.app.context.mediaJobs.sweep(1);
      expect(await states()).toEqual(['queued', 'failed']);
    }
    await world.app.context.mediaJobs.sweep(1);
    expect(await states()).toEqual(['failed', 'failed']);
  });

  test('old jobs are forgotten, those that are not settled are not', async () => {
    work();
    const { id } = await begin();
    await world.comes(id, 'done');
    await db.sql`update media_jobs set ended_at = now() - interval '91 days' where id = ${id}`;
    await world.app.context.mediaJobs.sweep(100);
    expect((await ann.client.get(`/files/jobs/${id}`)).status).toBe(404);
  });
});
