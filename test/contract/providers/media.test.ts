import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { secret } from '../../../src/providers/kit/declare/fields.ts';
import type { MediaCalls, MediaHandle } from '../../../src/providers/media/_calls.ts';
import { media, type MediaAdapter, type MediaLine } from '../../../src/providers/media/_contract.ts';
import {
  checkMediaRequest,
  defaultModelOf,
  mediaInputOf,
  MEDIA_OPERATIONS,
  type MediaOutput,
  studios,
  takesOf,
} from '../../../src/providers/registry/index.ts';
import { failureOf } from '../../support/peers/fake-network.ts';
import { type MediaFixture, mediaSuite, PROMPT, type Says, textOf } from '../../support/peers/suites/media.ts';
import { describeProviders, manifestChecks, sharedWire, wireChecks } from '../../support/peers/suites/provider.ts';
import { localProviders } from '../../support/worlds/providers.ts';

await describeProviders(mediaSuite);

const KINDS = {
  action: 'did heygen reelfarm tavus',
  direct:
    'black-forest-labs deepgram elevenlabs google ideogram ltx luma minimax openai qwen recraft runway stability-ai suno wan xai',
  hub: 'azure bedrock deepinfra fal fireworks gateway genviral groq hedra higgsfield leonardo openrouter replicate siliconflow togetherai vertex',
};
const registered = () => localProviders().list('media');
const adapterOf = (id: string) => registered().find((adapter) => adapter.id === id)!;

test('the thirty-six of the specification are registered as v1, each with its kind [PV3]', () => {
  const kinds = Object.entries(KINDS).flatMap(([kind, ids]) => ids.split(' ').map((id) => `${id}@v1 ${kind}`));
  expect(kinds).toHaveLength(36);
  expect(registered().map(({ id, version, facts }) => `${id}@${version} ${facts.kind}`)).toEqual(
    kinds.toSorted((a, b) => (a < b ? -1 : 1)),
  );
});

test('the check of a key says so where nothing free proves it, and is a proof everywhere else', async () => {
  const unproven: string[] = [];
  for (const { id } of registered()) {
    const path = `../../fixtures/providers/media/${id}.ts`;
    const { cases } = ((await import(path)) as { default: MediaFixture }).default;
    const said = cases.filter(({ operation, failure }) => operation === 'check' && failure === undefined);
    expect([id, said.length > 0]).toEqual([id, true]);
    if (said.some(({ result }) => !/ is accepted/.test(String(result)))) unproven.push(id);
  }
  expect(unproven.toSorted()).toEqual(['higgsfield', 'luma']);
});

test.each([
  ['genviral', 'the Scheduler plan has no API'],
  ['hedra', 'paid plan'],
  ['reelfarm', 'plan'],
  ['suno', 'Suno has no public API'],
])('the notes of %s say what it needs: %s', (id, words) => expect(adapterOf(id).setupNotes).toContain(words));

test('what is an action takes a request without a model, and no model is its default [PV4]', () => {
  for (const adapter of registered().filter(({ facts }) => facts.kind === 'action')) {
    expect(adapter.facts.models).toEqual([]);
    for (const operation of adapter.facts.operations)
      expect([adapter.id, defaultModelOf(adapter, operation), takesOf(adapter, operation, null)]).toEqual([
        adapter.id,
        null,
        expect.any(Object),
      ]);
  }
});

test('two studios ride on fal and one on openai, which has ended; none is registered [PV5, S234]', () => {
  expect(studios.map(({ adapter, deprecated }) => [adapter, deprecated ?? false])).toEqual([
    ['fal', false],
    ['fal', false],
    ['openai', true],
  ]);
  for (const { id, adapter, models, deprecated } of studios) {
    expect(adapterOf(id)).toBeUndefined();
    for (const model of models)
      expect([model, takesOf(adapterOf(adapter), 'video', model) !== undefined]).toEqual([model, !deprecated]);
  }
});

test('every operation of every model has a form that JSON Schema can write', () => {
  for (const { id, models, actions = {} } of registered())
    for (const operations of [...models.map((model) => model.operations), actions])
      for (const operation of MEDIA_OPERATIONS) {
        const takes = operations[operation];
        if (!takes) continue;
        const { type, additionalProperties } = z.toJSONSchema(mediaInputOf(takes, z.uuid()));
        expect([id, operation, type, additionalProperties]).toEqual([id, operation, 'object', false]);
      }
});

test('a request that names no length is estimated by the longest that its model makes', async () => {
  await using providers = localProviders();
  const free: string[] = [];
  for (const adapter of registered()) {
    const values = Object.fromEntries(Object.keys(adapter.credentials).map((name) => [name, 'https://a.example']));
    const service = providers.mediaService(adapter, { orgId: null, values });
    for (const { id, operations } of [...adapter.models, { id: null, operations: adapter.actions ?? {} }])
      for (const operation of ['video', 'music'] as const)
        if (operations[operation] && !((service.estimate({ operation, model: id, prompt: PROMPT })?.micros ?? 1) > 0))
          free.push(`${adapter.id} ${id} ${operation}`);
  }
  expect(free).toEqual([]);
});

test.each([
  ['{"perImage": 0.05}', { micros: 50_000, source: 'price_table' }],
  ['{"perImage": 0.05, "perCall": 0.01}', { micros: 60_000, source: 'price_table' }],
  ['{"perSecond": 0.05}', undefined], // the answer counts no seconds: the estimate stands
])('a result costs by the price of its owner, %s, where the answer counts all of it', async (price, cost) => {
  const wire = await sharedWire();
  await using providers = localProviders({ outbound: wire.outbound });
  const values = { apiKey: 'the-key', prices: `{"image-01": ${price}}` };
  const service = providers.mediaService(adapterOf('minimax'), { orgId: null, values });
  const asks = {
    method: 'POST',
    url: 'https://api.minimax.io/v1/image_generation',
    headers: { authorization: 'Bearer the-key' },
    json: { model: 'image-01', prompt: PROMPT, response_format: 'url' },
  };
  wire.plays([{ asks, says: { json: { data: { image_urls: ['https://a.example/1.jpg'] } } } }]);
  const request = { operation: 'image', model: 'image-01', prompt: PROMPT, sources: [], key: 'k' } as const;
  expect(((await service.start(request)) as { cost?: unknown }).cost).toEqual(cost);
});

test.each([
  ['groq', 'canopylabs/orpheus-arabic-saudi'],
  ['togetherai', 'cartesia/sonic'],
  ['openrouter', 'some-maker/some-voice'],
])('%s is not asked to read by %s in the voice of another model', (id, model) => {
  const spoken = { operation: 'speech' as const, model, prompt: PROMPT, sources: [] };
  expect(() => checkMediaRequest(adapterOf(id), { ...spoken, voice: 'someone' })).not.toThrow();
  expect(() => checkMediaRequest(adapterOf(id), spoken)).toThrow(
    expect.objectContaining({ status: 400, extra: { errors: [expect.objectContaining({ field: 'voice' })] } }),
  );
});

test('qwen reads in the languages that it knows by name, and in no other', () => {
  const spoken = {
    operation: 'speech' as const,
    model: 'qwen3-tts-flash',
    prompt: PROMPT,
    voice: 'Cherry',
    sources: [],
  };
  for (const language of ['zh', 'en', 'de', 'it', 'pt', 'es', 'ja', 'ko', 'fr', 'ru'])
    expect(() => checkMediaRequest(adapterOf('qwen'), { ...spoken, language })).not.toThrow();
  for (const language of ['nl', 'English', 'auto'])
    expect(() => checkMediaRequest(adapterOf('qwen'), { ...spoken, language })).toThrow(
      expect.objectContaining({ status: 400, extra: { errors: [expect.objectContaining({ field: 'language' })] } }),
    );
});

test('leonardo is asked for four pictures at most, since each of its sizes is wider than 768', () => {
  const { models } = adapterOf('leonardo');
  const drawing = models.flatMap(({ id, operations: { image } }) => (image ? [{ id, image }] : []));
  expect(drawing.map(({ image }) => image.count)).toEqual(drawing.map(() => 4));
  expect(
    drawing.flatMap(({ image }) => image.sizes!).every((size) => Math.max(...size.split('x').map(Number)) > 768),
  ).toBe(true);
});

test('each model of OpenAI reads in its own voices', () => {
  const voicesOf = (model: string) => takesOf(adapterOf('openai'), 'speech', model)!.voices;
  const first = ['alloy', 'ash', 'coral', 'echo', 'fable', 'nova', 'onyx', 'sage', 'shimmer'];
  expect([voicesOf('tts-1'), voicesOf('tts-1-hd')]).toEqual([first, first]);
  expect(voicesOf('gpt-4o-mini-tts')).toEqual([...first, 'ballad', 'verse', 'marin', 'cedar']);
});

test('what a provider writes with NUL or half a sign is told and kept without', async () => {
  const wire = await sharedWire();
  await using providers = localProviders({ outbound: wire.outbound });
  const service = providers.mediaService(adapterOf('ltx'), { orgId: null, values: { apiKey: 'the-key' } });
  const [url, headers] = ['https://api.ltx.video/v2/text-to-video', { authorization: 'Bearer the-key' }];
  const failed = { status: 'failed', error: { message: 'No\0 \ud83d' } };
  wire.plays([
    { asks: { method: 'POST', url, headers, json: expect.anything() }, says: { json: { id: 'j\0a' } } },
    { asks: { method: 'GET', url: `${url}/ja`, headers }, says: { json: failed } },
  ]);
  const asked = { operation: 'video', model: 'ltx-2-3-pro', prompt: 'a', seconds: 8, sources: [], key: 'k' } as const;
  const { handle } = (await service.start(asked)) as { handle: MediaHandle };
  expect([handle['id'], await service.poll!(handle)]).toMatchObject(['ja', { message: 'No \ufffd' }]);
});

describe('the bytes of a result', () => {
  const OUTPUT = 'https://replicate.delivery/clip.mp4?sig=s';
  const service = (providers: ReturnType<typeof localProviders>, id = 'replicate') =>
    providers.mediaService(adapterOf(id), { orgId: null, values: { apiKey: 'r8_the-token' } });

  /** Fetches a result from a wire that answers these. */
  async function fetched(
    output: MediaOutput,
    exchanges: Parameters<Awaited<ReturnType<typeof sharedWire>>['plays']>[0],
  ) {
    const wire = await sharedWire();
    await using providers = localProviders({ outbound: wire.outbound });
    wire.plays(exchanges);
    const outcome = await service(providers)
      .download(output)
      .then(async ({ contentType, body }) => ({ contentType, text: await textOf(body) }))
      .catch((error: unknown) => error);
    expect([wire.faults, wire.left]).toEqual([[], 0]);
    return outcome;
  }
  const at = (url: string, says: Says, headers: Readonly<Record<string, string>> = {}) => ({
    asks: { method: 'GET', url, headers },
    says,
  });

  test('come without the key, also over redirects', async () => {
    const moved = { status: 302, headers: { location: 'https://cdn.example/2' } };
    expect(
      await fetched({ kind: 'video', url: OUTPUT }, [
        at(OUTPUT, moved),
        at('https://cdn.example/2', { text: 'a film', headers: { 'content-type': 'video/mp4' } }),
      ]),
    ).toEqual({ contentType: 'video/mp4', text: 'a film' });
  });

  test('come with the key from the host of the provider alone', async () => {
    const own = 'https://api.replicate.com/v1/files/1';
    const headers = { authorization: 'Bearer r8_the-token' };
    const moved = { status: 302, headers: { location: 'https://cdn.example/2' } };
    expect(
      await fetched({ kind: 'video', url: own, withKey: true }, [
        at(own, moved, headers),
        at('https://cdn.example/2', { text: 'a film' }),
      ]),
    ).toMatchObject({ text: 'a film' });
    await fetched({ kind: 'video', url: OUTPUT, withKey: true }, [at(OUTPUT, { text: 'a film' })]);
  });

  test('are gone once they expired, and the refusal says for how long they are kept', async () => {
    expect(await fetched({ kind: 'video', url: OUTPUT }, [at(OUTPUT, { status: 403 })])).toMatchObject({
      failure: 'rejected',
      message: 'Replicate no longer has the result (403), which it keeps for 60 minutes',
    });
    expect(await fetched({ kind: 'video', url: OUTPUT }, [at(OUTPUT, { status: 503 })])).toMatchObject({
      failure: 'unavailable',
    });
  });

  test.each(['http://10.0.0.1/clip.mp4', 'https://169.254.169.254/latest', 'file:///etc/passwd', 'nothing'])(
    'are not fetched from %s',
    async (url) => {
      await using providers = localProviders();
      expect(await failureOf(service(providers).download({ kind: 'video', url }))).toMatchObject({
        failure: 'rejected',
        message: expect.not.stringContaining('10.0.0.1'),
      });
    },
  );
});

describe('the suite detects an adapter that', () => {
  const API = 'https://api.demo.example';
  const Made = z.object({ id: z.string(), poll: z.string() });
  const State = z.object({ status: z.enum(['running', 'done', 'failed']), url: z.string().optional() });
  const honest = ({ http }: MediaLine): MediaCalls => ({
    async start({ prompt }) {
      const { id } = await http.post('/jobs', Made, { json: { prompt }, creates: true });
      return { state: 'running', handle: { id } };
    },
    async poll({ id }) {
      const { status, url } = await http.get(`/jobs/${id}`, State);
      if (status === 'running') return { state: 'running' };
      if (status === 'done') return { state: 'done', outputs: [{ kind: 'image', url: url! }], usage: {} };
      return { state: 'failed', failure: 'rejected', message: 'It failed' };
    },
  });
  const demo = (connect = honest): MediaAdapter =>
    media({
      id: 'demo',
      version: 'v1',
      status: 'active',
      title: 'Demo',
      description: 'A provider of this test.',
      authType: 'api_key',
      credentials: { key: secret('Key') },
      api: API,
      auth: { in: 'header', name: 'x-key', field: 'key' },
      models: { m1: { image: {} } },
      connect: connect as (line: unknown) => MediaCalls,
    });
  const headers = { 'x-key': 'the-key-of-demo' };
  const poll = (json: unknown) => ({ asks: { method: 'GET', url: `${API}/jobs/j1`, headers }, says: { json } });
  const facts: MediaFixture = {
    values: { key: 'the-key-of-demo' },
    secret: ['key'],
    declares: { authType: 'api_key' },
    cases: [
      {
        operation: 'image',
        input: { model: 'm1', prompt: PROMPT },
        exchanges: [
          {
            asks: { method: 'POST', url: `${API}/jobs`, headers, json: { prompt: PROMPT } },
            says: { json: { id: 'j1', poll: `${API}/jobs/j1` } },
            creates: true,
          },
          poll({ status: 'running' }),
          poll({ status: 'done', url: 'https://a.example/1.png' }),
        ],
        result: { outputs: [{ kind: 'image', url: 'https://a.example/1.png' }], usage: {} },
      },
    ],
    refusals: [
      {
        name: 'a prompt that is not allowed',
        operation: 'image',
        says: { status: 422, json: { message: 'Not this one' } },
        failure: 'rejected',
        sentence: 'Not this one',
      },
      {
        name: 'a job that failed',
        operation: 'image',
        at: 1,
        says: { json: { status: 'failed' } },
        failure: 'rejected',
      },
    ],
  };
  async function wrongIn(adapter: MediaAdapter): Promise<string> {
    const wrong: string[] = [];
    for (const { name, run } of [
      ...manifestChecks(adapter),
      ...wireChecks(mediaSuite, adapter, facts),
      ...mediaSuite.more!(adapter, facts),
    ])
      await run().catch(() => void wrong.push(name));
    return wrong.join('\n');
  }

  test('is honest (no fault found)', async () => expect(await wrongIn(demo())).toBe(''));
  test('keeps what it needs in the process', async () => {
    const learned = (line: MediaLine): MediaCalls => {
      let id: unknown;
      const { start, poll: ask } = honest(line);
      return {
        async start(request) {
          const started = await start(request);
          id = started.state === 'running' && started.handle['id'];
          return { state: 'running', handle: {} };
        },
        poll: () => ask!({ id: id as string }),
      };
    };
    expect(await wrongIn(demo(learned))).toContain('sends exactly the documented requests');
  });
  test('asks whatever address an answer names', async () => {
    const trusting = (line: MediaLine): MediaCalls => ({
      async start({ prompt }) {
        const { poll: url } = await line.http.post('/jobs', Made, { json: { prompt }, creates: true });
        return { state: 'running', handle: { url } };
      },
      poll: async ({ url }) => {
        const { status, url: result } = await line.http.get(String(url), State);
        return status === 'done'
          ? { state: 'done', outputs: [{ kind: 'image', url: result! }], usage: {} }
          : status === 'running'
            ? { state: 'running' }
            : { state: 'failed', failure: 'rejected', message: 'It failed' };
      },
    });
    expect(await wrongIn(demo(trusting))).toContain('sends its key to no foreign host');
  });
  test('sends a submit again', async () => {
    const eager = (line: MediaLine): MediaCalls => {
      const { start, ...calls } = honest(line);
      return { ...calls, start: (request) => start(request).catch(() => start(request)) };
    };
    expect(await wrongIn(demo(eager))).toContain('sends its submit once');
  });
  test('leaves out `creates`', async () => {
    const cheap = ({ http, ...line }: MediaLine): MediaCalls => ({
      ...honest({ http, ...line }),
      async start({ prompt }) {
        const { id } = await http.post('/jobs', Made, { json: { prompt } });
        return { state: 'running', handle: { id } };
      },
    });
    expect(await wrongIn(demo(cheap))).toContain('a broken connection');
  });
  test('takes a failed job for one that goes on', async () => {
    const patient = (line: MediaLine): MediaCalls => {
      const { poll: ask, ...calls } = honest(line);
      return {
        ...calls,
        async poll(handle) {
          const polled = await ask!(handle);
          return polled.state === 'failed' ? { state: 'running' } : polled;
        },
      };
    };
    expect(await wrongIn(demo(patient))).toContain('a job that failed is rejected');
  });
});
