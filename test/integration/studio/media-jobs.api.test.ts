// oxlint-disable max-lines -- one maker and one database serve all cases
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Answer, SignedUp } from '../../support/worlds/app.ts';
import { called } from '../../support/worlds/mcp.ts';
import type { Maker, Plan } from '../../support/worlds/studio/media-maker.ts';
import { mediaJobsWorld, type MediaJobsWorld, setProvider } from '../../support/worlds/studio/media-jobs.ts';
import { formOf, HEADS } from '../../support/worlds/samples.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';

let db: TestDatabase;
let world: MediaJobsWorld;
let maker: Maker;
let ann: SignedUp;
let worker: AsyncDisposable;
beforeAll(async () => {
  db = await testDatabase({ connections: 8 });
  world = await mediaJobsWorld({ db });
  ({ maker } = world);
  worker = world.app.context.mediaJobs.start();
  ann = await world.app.signUp();
  await setProvider(ann, 'maker');
});
afterAll(async () => {
  maker?.release();
  await worker?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
});

const ASYNC = { prefer: 'respond-async' };
const upload = async (who: SignedUp, bytes: Buffer, name: string, type: string) =>
  (await who.client.post('/files/upload-simple', formOf(bytes, { name, type }))).body.id as string;
const faults = ({ status, body }: Answer) => [status, body.errors?.[0]?.field, body.errors?.[0]?.rule];

/** Starts a job of this prompt without waiting; answers its id. */
async function begin(prompt: string, plan: Plan = {}, body: object = {}, who = ann): Promise<string> {
  maker.plan(prompt, plan);
  const answer = await who.client.post('/files/generate-image', { prompt, ...body }, ASYNC);
  if (answer.status !== 202) throw new Error(`The job was refused: ${answer.text}`);
  expect(answer.headers.get('preference-applied')).toBe('respond-async');
  return answer.body.jobId as string;
}
const shown = async (id: string) => (await ann.client.get(`/files/jobs/${id}`)).body;

describe('POST /files/generate-image', () => {
  test('a picture is made once, kept with how it was made, and billed by what the provider told [S151]', async () => {
    maker.plan('a red kite', { polls: ['running', 'running', 'done'], micros: 31_000 });
    const answer = await ann.client.post('/files/generate-image', { prompt: 'a red kite', size: '64x48' });
    expect([answer.status, answer.body]).toEqual([201, { id: expect.any(String), path: expect.any(String) }]);
    expect(maker.submits('a red kite')).toBe(1);
    expect(maker.jobs('a red kite')[0]!.body).toMatchObject({ operation: 'image', size: '64x48', model: 'pixel-1' });
    const { body: file } = await ann.client.get(`/files/${answer.body.id}`);
    expect(file).toMatchObject({
      name: 'a red kite',
      type: 'image',
      mime: 'image/png',
      width: 64,
      generated: {
        provider: 'media/maker',
        version: 'v1',
        operation: 'image',
        model: 'pixel-1',
        prompt: 'a red kite',
        costMicros: 31_000,
        licence: 'Terms of Maker maker',
        licenceUrl: 'https://maker.example',
      },
    });
    const [job] = await db.sql`select id from media_jobs where ${answer.body.id}::uuid = any(file_ids)`;
    expect(await world.ledger(job!['id'])).toEqual([
      { kind: 'reservation', micros: 40_000, marked: false },
      { kind: 'release', micros: -40_000, marked: false },
      { kind: 'settlement', micros: 31_000, marked: false },
    ]);
    const [fact, ...more] = await world.facts(job!['id']);
    expect([fact!['payload'], more]).toEqual([
      {
        userId: ann.userId,
        operation: 'image',
        providerId: 'maker',
        state: 'done',
        fileIds: [answer.body.id],
        path: answer.body.path,
        error: null,
      },
      [],
    ]);
  });

  test('an answer without a price is billed by its estimate, and a result that comes at once is kept the same', async () => {
    maker.plan('at once', { submit: 'at-once' });
    const answer = await ann.client.post('/media/generate-image-with-prompt', { prompt: 'at once' });
    expect(answer.status).toBe(201);
    const [job] = await db.sql`select id, cost_source from media_jobs where ${answer.body.id}::uuid = any(file_ids)`;
    expect(job!['cost_source']).toBe('estimate');
    expect((await world.ledger(job!['id'])).at(-1)).toEqual({ kind: 'settlement', micros: 40_000, marked: false });
    expect(maker.jobs('at once')[0]!.polls).toBe(0);
  });

  test('with `Prefer: respond-async` it answers 202, and the job tells how it goes on [S151]', async () => {
    const id = await begin('slowly', { polls: ['running', 'hang'] });
    await eventually('the second poll', () => maker.jobs('slowly')[0]?.polls === 2);
    expect(await shown(id)).toMatchObject({
      id,
      state: 'running',
      detail: 'running',
      progress: 10,
      result: null,
      error: null,
    });
    maker.plan('slowly', { polls: ['done'] });
    maker.release();
    await world.comes(id, 'done');
    expect(await shown(id)).toMatchObject({
      state: 'done',
      detail: 'done',
      progress: 100,
      result: [{ id: expect.any(String), path: expect.any(String) }],
    });
  });

  test('a job is seen by its organization alone', async () => {
    const id = await begin('ours');
    const ben = await world.app.signUp();
    for (const answer of [await ben.client.get(`/files/jobs/${id}`), await ben.client.delete(`/files/jobs/${id}`)])
      expect(answer.status).toBe(404);
  });

  test('a failure of the provider is 502 with its id, billed with nothing, and told once [S194]', async () => {
    maker.plan('forbidden', { polls: ['failed'] });
    const answer = await ann.client.post('/files/generate-image', { prompt: 'forbidden' });
    expect(answer).toMatchObject({
      status: 502,
      body: { code: 'provider_failed', provider: 'maker', message: 'The content was refused' },
    });
    const id = answer.body.jobId as string;
    expect((await world.ledger(id)).map(({ kind }) => kind)).toEqual(['reservation', 'release']);
    expect((await world.facts(id)).map(({ payload }) => payload.state)).toEqual(['failed']);
    expect(await shown(id)).toMatchObject({ state: 'failed', detail: 'failed', error: 'The content was refused' });
  });

  test('without a provider that is set up it is 400 [S194]', async () => {
    const cleo = await world.app.signUp();
    const answer = await cleo.client.post('/files/generate-image', { prompt: 'nothing' });
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    expect((await cleo.client.get('/files/video-options')).body).toEqual([]);
  });

  test('30 requests a minute are taken of a caller [S193]', async () => {
    const answer = await ann.client.post('/files/generate-image', {});
    expect([answer.status, answer.headers.get('x-ratelimit-limit')]).toEqual([400, '30000']); // the tests' scale is 1,000
  });
});

describe('an Idempotency-Key', () => {
  test('that is repeated, as its answer was lost, makes no second job [S18]', async () => {
    maker.plan('once', { polls: ['running'] });
    const ask = async () => {
      const headers = { ...ASYNC, 'idempotency-key': 'once' };
      return (await ann.client.post('/files/generate-image', { prompt: 'once' }, headers)).body.jobId as string;
    };
    const first = await ask();
    await db.sql`delete from idempotency_keys where key = 'once'`; // given back: nobody was told
    expect(await ask()).toBe(first);
    await db.sql`delete from idempotency_keys where key = 'once'`;
    await ann.client.delete(`/files/jobs/${first}`);
    await world.comes(first, 'cancelled');
    expect(await ask()).toBe(first);
    await db.sql`delete from idempotency_keys where key = 'once'`;
    await db.sql`update media_jobs set created_at = now() - interval '25 hours' where id = ${first}`;
    const nextDay = await ask();
    expect(nextDay).not.toBe(first);
    await ann.client.delete(`/files/jobs/${nextDay}`);
  });

  test('whose file was deleted before it is repeated is 404', async () => {
    maker.plan('kept for a while', {});
    const ask = () =>
      ann.client.post('/files/generate-image', { prompt: 'kept for a while' }, { 'idempotency-key': 'while' });
    const { body } = await ask();
    expect((await ann.client.delete(`/files/${body.id}`)).status).toBe(200);
    await db.sql`delete from idempotency_keys where key = 'while'`; // given back: nobody was told
    expect(await ask()).toMatchObject({
      status: 404,
      body: { message: 'The file that this job has made was deleted' },
    });
    expect(maker.submits('kept for a while')).toBe(1);
  });

  test('one that failed is made anew under it', async () => {
    maker.plan('again', { polls: ['failed'] });
    const ask = () => ann.client.post('/files/generate-image', { prompt: 'again' }, { 'idempotency-key': 'again' });
    const failures = [await ask(), await ask()];
    expect(failures.map(({ status }) => status)).toEqual([502, 502]);
    expect(new Set(failures.map(({ body }) => body.jobId)).size).toBe(2);
  });
});

describe('refusals before any call', () => {
  const asks: [string, string, object, unknown[]][] = [
    ['an empty prompt', 'generate-image', { prompt: ' ' }, [400, 'prompt', 'too_small']],
    ['a prompt that is too long', 'generate-image', { prompt: 'x'.repeat(201) }, [400, 'prompt', 'too_big']],
    ['a size that the model lacks', 'generate-image', { prompt: 'a', size: '1x1' }, [400, 'size', 'invalid_value']],
    ['an unknown model', 'generate-image', { prompt: 'a', model: 'oil-9' }, [400, 'model', 'unsupported']],
    [
      'an operation that the model lacks',
      'generate-image',
      { prompt: 'a', model: 'say-1' },
      [400, 'model', 'unsupported'],
    ],
    [
      'an unknown provider',
      'generate-image',
      { prompt: 'a', providerId: 'nobody' },
      [400, 'providerId', 'invalid_value'],
    ],
    [
      'a provider that is not set up',
      'generate-image',
      { prompt: 'a', providerId: 'spare' },
      [400, 'providerId', 'not_configured'],
    ],
    [
      'an unknown type',
      'generate-video',
      { type: 'maker/oil', customParams: { prompt: 'a' } },
      [400, 'type', 'unknown_id'],
    ],
    [
      'a length that the model lacks',
      'generate-video',
      { type: 'maker/video', customParams: { prompt: 'a', seconds: 7 } },
      [400, 'customParams.seconds', 'invalid_union'],
    ],
    [
      'a ratio that the model lacks',
      'generate-video',
      { type: 'maker/video', customParams: { prompt: 'a', ratio: '1:3' } },
      [400, 'customParams.ratio', 'invalid_value'],
    ],
    ['a count that is too large', 'jobs', { operation: 'image', prompt: 'a', count: 3 }, [400, 'count', 'too_big']],
    ['a voice that nobody has', 'generate-voice', { text: 'Hello', voice: 'zed' }, [400, 'voice', 'invalid_value']],
    ['a text that is too long', 'generate-voice', { text: 'x'.repeat(101) }, [400, 'text', 'too_big']],
    [
      'an option that is needed',
      'generate-video',
      { type: 'maker/avatar', customParams: { prompt: 'a' } },
      [400, 'customParams.options', 'required'],
    ],
    ['an operation that nobody offers', 'jobs', { operation: 'music', prompt: 'a' }, [400, 'model', 'unsupported']],
  ];
  test.each(asks)('%s is refused with its path [S151]', async (_what, path, body, expected) => {
    const before = maker.all.size;
    expect(faults(await ann.client.post(`/files/${path}`, body))).toEqual(expected);
    expect(maker.all.size).toBe(before);
  });

  test('a file of another organization, or of the wrong kind, is refused with its path', async () => {
    const ben = await world.app.signUp();
    const theirs = await upload(ben, HEADS['mp3']!, 'a.mp3', 'audio/mpeg');
    const sound = await upload(ann, HEADS['mp3']!, 'a.mp3', 'audio/mpeg');
    expect(faults(await ann.client.post('/files/captions', { fileId: theirs }))).toEqual([400, 'fileId', 'unknown_id']);
    const foreign = { type: 'maker/video', customParams: { prompt: 'a', sources: [theirs] } };
    expect(faults(await ann.client.post('/files/generate-video', foreign))).toEqual([
      400,
      'customParams.sources.0',
      'unknown_id',
    ]);
    const animated = { type: 'maker/video', customParams: { prompt: 'a', sources: [sound] } };
    expect(faults(await ann.client.post('/files/generate-video', animated))).toEqual([
      400,
      'customParams.sources.0',
      'invalid_value',
    ]);
  });
});

describe('videos, voices and captions', () => {
  test('the ways to make a video are listed with their values, and those can be looked up [S151]', async () => {
    const { body } = await ann.client.get('/files/video-options');
    expect(body).toEqual([
      {
        identifier: 'maker/video',
        title: 'Maker maker: video',
        description: 'Makes what a test plans.',
        tools: [
          { name: 'prompt', label: 'Prompt', required: true, tool: null, maxLength: 200 },
          {
            name: 'sources',
            label: 'Files to start from',
            required: false,
            tool: null,
            files: { kinds: ['image'], min: 0, max: 1 },
          },
          { name: 'seconds', label: 'Length in seconds', required: false, tool: null, values: [5, 10] },
          { name: 'ratio', label: 'Width to height', required: false, tool: null, values: ['16:9', '9:16'] },
        ],
        anyOf: [],
        placement: 'text-to-video',
        output: ['vertical', 'horizontal'],
      },
      {
        identifier: 'maker/avatar',
        title: 'Maker maker: avatar',
        description: 'Makes what a test plans.',
        tools: [
          { name: 'prompt', label: 'Prompt', required: true, tool: null, maxLength: 200 },
          { name: 'options.avatarId', label: 'Avatar', required: true, tool: 'avatars' },
        ],
        anyOf: [],
        placement: 'text-to-video',
        output: [],
      },
    ]);
    expect((await ann.client.get('/files/video-tools?identifier=maker/avatar&tool=avatars')).body).toEqual([
      { id: 'a1', label: 'Ann' },
    ]);
    expect((await ann.client.get('/files/video-tools?identifier=maker/avatar&tool=hats')).status).toBe(404);
  });

  test('a video is made in the form that was asked for, with a picture of the library, and invented values are left out [S151]', async () => {
    const source = await upload(
      ann,
      await (await import('../../support/worlds/samples.ts')).picture(8, 8),
      'a.png',
      'image/png',
    );
    maker.plan('a clip', { results: ['film'] });
    const answer = await ann.client.post('/files/generate-video', {
      type: 'maker/video',
      output: 'vertical',
      customParams: { prompt: 'a clip', seconds: 10, sources: [source], invented: true },
    });
    expect([answer.status, answer.body]).toEqual([
      201,
      [{ id: expect.any(String), path: expect.stringContaining('.mp4') }],
    ]);
    expect(maker.jobs('a clip')[0]!.body).toMatchObject({
      ratio: '9:16',
      seconds: 10,
      files: [{ name: `${source}.png` }],
    });
    expect(maker.jobs('a clip')[0]!.body).not.toHaveProperty('invented');
  });

  test('a value is taken under the name that the ways list it by, of a route and of a tool alike [S151]', async () => {
    const key = await ann.withKey();
    const make = async (prompt: string, more: object) => {
      maker.plan(prompt, { results: ['film'] });
      const customParams = { prompt, ...more };
      const answer = await ann.client.post('/files/generate-video', { type: 'maker/avatar', customParams });
      return answer.status === 201 ? maker.jobs(prompt)[0]!.body : faults(answer);
    };
    const call = async (prompt: string, ...more: { key: string; value: unknown }[]) => {
      maker.plan(prompt, { results: ['film'] });
      const customParams = [{ key: 'prompt', value: prompt }, ...more];
      await called(key, 'generate_video', { identifier: 'maker/avatar', customParams });
      return maker.jobs(prompt)[0]!.body;
    };
    const made = { options: { avatarId: 'a1' } };
    expect(await make('one', { 'options.avatarId': 'a1' })).toMatchObject(made);
    expect(await make('two', { 'options.avatarId': 'a1', options: {} })).toMatchObject(made);
    expect(await call('three', { key: 'options.avatarId', value: 'a1' })).toMatchObject(made);
    expect(await call('four', { key: 'options', value: '{"avatarId":"a1"}' })).toMatchObject(made);
    expect(await call('five', { key: 'options.avatarId', value: 7 })).toMatchObject({ options: { avatarId: '7' } });
    const hat = await make('six', { 'options.avatarId': 'a1', 'options.hat': 'x' });
    expect(hat).toEqual([400, expect.stringMatching(/^customParams\.options/), expect.any(String)]);
    const list = await make('seven', { 'options.avatarId': ['a1'] });
    expect(list).toEqual([400, 'customParams.options.avatarId', 'invalid_type']);
  });

  test('a form that the provider decides itself is refused', async () => {
    const body = {
      type: 'maker/avatar',
      output: 'vertical',
      customParams: { prompt: 'a', options: { avatarId: 'a1' } },
    };
    expect(faults(await ann.client.post('/files/generate-video', body))).toEqual([400, 'output', 'unsupported']);
  });

  test('a text is spoken, and a sound becomes captions in both forms', async () => {
    maker.plan('Good morning', { results: ['sound'] });
    const voice = await ann.client.post('/files/generate-voice', { text: 'Good morning', voice: 'ann' });
    expect([voice.status, (await ann.client.get(`/files/${voice.body.id}`)).body.mime]).toEqual([201, 'audio/mpeg']);
    maker.plan('', {
      results: [],
      segments: [
        { from: 0, to: 1.5, text: 'Good <b>morning</b>' },
        { from: 3_661.25, to: 3_662, text: 'and --> good night' },
      ],
    });
    const captions = await ann.client.post('/files/captions', { fileId: voice.body.id, language: 'en' });
    expect([captions.status, captions.body.map(({ path }: { path: string }) => path.split('.').at(-1))]).toEqual([
      201,
      ['srt', 'vtt'],
    ]);
    // nobody knows how long this sound lasts: there is a bound for the estimate, and no length to be paid by
    expect(maker.jobs('').at(-1)!.body['files']).toEqual([
      { name: expect.any(String), size: expect.any(Number), mostSeconds: expect.any(Number) },
    ]);
    const [srt, vtt] = await Promise.all(
      captions.body.map(async ({ path }: { path: string }) => {
        const answer = await ann.client.get(new URL(path).pathname);
        return [answer.headers.get('content-type'), answer.headers.get('content-disposition'), answer.text];
      }),
    );
    expect(srt).toEqual([
      expect.stringContaining('application/x-subrip'),
      expect.stringContaining('attachment'),
      '1\n00:00:00,000 --> 00:00:01,500\nGood <b>morning</b>\n\n2\n01:01:01,250 --> 01:01:02,000\nand -> good night\n',
    ]);
    expect(vtt![2]).toBe(
      'WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nGood &lt;b>morning&lt;/b>\n\n01:01:01.250 --> 01:01:02.000\nand -> good night\n',
    );
  });
});

describe('the public API', () => {
  test('makes a video with a key, and answers its files as a list [S151, S2]', async () => {
    const key = await ann.withKey();
    maker.plan('by key', { results: ['film'] });
    const answer = await key.post('/public/v1/generate-video', {
      type: 'maker/video',
      output: 'horizontal',
      customParams: { prompt: 'by key' },
    });
    expect([answer.status, answer.body]).toEqual([
      201,
      [{ id: expect.any(String), path: expect.stringContaining('.mp4') }],
    ]);
    expect(maker.jobs('by key')[0]!.body).toMatchObject({ ratio: '16:9' });
    const unknown = await key.post('/public/v1/generate-video', { type: 'nobody/video', customParams: {} });
    expect(faults(unknown)).toEqual([400, 'type', 'unknown_id']);
  });

  test('answers a job that is not waited for by its id, which the key may read [S151]', async () => {
    const key = await ann.withKey();
    maker.plan('later', { results: ['film'] });
    const body = { type: 'maker/video', customParams: { prompt: 'later' } };
    const answer = await key.post('/public/v1/generate-video', body, ASYNC);
    expect([answer.status, answer.body]).toEqual([202, { jobId: expect.any(String) }]);
    await world.comes(answer.body.jobId, 'done');
    const job = await key.get(`/public/v1/media/jobs/${answer.body.jobId}`);
    expect([job.status, job.body]).toMatchObject([200, { state: 'done', result: [{ id: expect.any(String) }] }]);
    const ben = await (await world.app.signUp()).withKey();
    expect((await ben.get(`/public/v1/media/jobs/${answer.body.jobId}`)).status).toBe(404);
  });

  test('lists values of a video option, with parameters or flat keys; an unknown function is 404 [T6]', async () => {
    const key = await ann.withKey();
    const ask = (body: object) => key.post('/public/v1/video/function', { identifier: 'maker/avatar', ...body });
    for (const more of [{}, { params: { any: 1 } }, { flat: 'x', other: { any: 1 } }])
      expect(await ask({ functionName: 'avatars', ...more })).toMatchObject({
        status: 201,
        body: [{ id: 'a1', label: 'Ann' }],
      });
    const unknown = await ask({ functionName: 'hats' });
    expect([unknown.status, unknown.body.code]).toEqual([404, 'not_found']);
  });
});

describe('DELETE /files/jobs/:id', () => {
  test('a running job is told to stop, counts with its estimate, marked, and is not announced', async () => {
    const id = await begin('stop me', { polls: ['running'] });
    await world.comes(id, 'running');
    const answer = await ann.client.delete(`/files/jobs/${id}`);
    expect(answer.status).toBe(200);
    await world.comes(id, 'cancelled');
    await eventually('the provider is told', () => maker.jobs('stop me')[0]!.cancels === 1);
    expect((await world.ledger(id)).at(-1)).toEqual({ kind: 'settlement', micros: 40_000, marked: true });
    expect(await world.facts(id)).toHaveLength(0);
    expect(await shown(id)).toMatchObject({
      state: 'failed',
      detail: 'cancelled',
      error: 'Cancelled',
      costMicros: 40_000,
      costSource: 'estimate',
    });
    expect((await ann.client.delete(`/files/jobs/${id}`)).status).toBe(200);
  });

  test('a job whose poll is under way ends with its answer', async () => {
    const id = await begin('asked already', { polls: ['hang'] });
    await eventually('the poll', () => maker.jobs('asked already')[0]?.polls === 1);
    const { body } = await ann.client.delete(`/files/jobs/${id}`);
    expect(body).toMatchObject({ state: 'running', detail: 'cancelling' });
    maker.plan('asked already', { polls: ['running'] });
    maker.release();
    await world.comes(id, 'cancelled');
  });

  test('a job of somebody else is 403 for a member, whose own one ends', async () => {
    const ben = await world.app.signUp();
    await db.sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${ben.userId}, 'member')`;
    ben.client.headers['showorg'] = ann.orgId;
    const theirs = await begin('not yours', { polls: ['running'] });
    const answer = await ben.client.delete(`/files/jobs/${theirs}`);
    expect([answer.status, answer.body.code]).toEqual([403, 'forbidden']);
    expect(await shown(theirs)).toMatchObject({ detail: expect.not.stringMatching(/cancel/) });
    const own = await begin('yours', { polls: ['running'] }, {}, ben);
    expect((await ben.client.delete(`/files/jobs/${own}`)).status).toBe(200);
    expect((await ann.client.delete(`/files/jobs/${theirs}`)).status).toBe(200);
  });

  test('a job that is over is 409', async () => {
    const id = await begin('over');
    await world.comes(id, 'done');
    expect((await ann.client.delete(`/files/jobs/${id}`)).status).toBe(409);
  });
});
