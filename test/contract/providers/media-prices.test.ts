import { describe, expect, test } from '@jest/globals';
import { microsOf, type Price } from '../../../src/providers/kit/declare/cost.ts';
import { mediaPriceOf } from '../../../src/providers/media/_prices.ts';
import type { CallUsage, MediaDone, MediaOperation, SourceFile } from '../../../src/providers/registry/index.ts';
import { film, picture, PROMPT, sound } from '../../support/peers/suites/media.ts';
import { type Exchange, sharedWire } from '../../support/peers/suites/provider.ts';
import { localProviders } from '../../support/worlds/providers.ts';

describe('the table of prices', () => {
  test('has a price for each known model and each operation without models', () => {
    const without: string[] = [];
    for (const { id, models, actions = {} } of localProviders().list('media'))
      for (const name of [...models.map((model) => model.id), ...Object.keys(actions)])
        if (!mediaPriceOf(id, name)) without.push(`${id}: ${name}`);
    expect(without).toEqual([]);
  });

  test('lets no request be free: each has an estimate above nothing', () => {
    const request: CallUsage = { characters: 200, seconds: 5, images: 1 };
    for (const { id, models, actions = {} } of localProviders().list('media'))
      for (const name of [...models.map((model) => model.id), ...Object.keys(actions)])
        expect([id, name, microsOf(mediaPriceOf(id, name)!, request) > 0]).toEqual([id, name, true]);
  });

  // Examples as providers publish them: what was used, and the dollars that it costs.
  test.each<[string, string, CallUsage, number]>([
    ['qwen', 'qwen3-tts-flash', { characters: 10_000 }, 0.114682], // of Beijing; 0.1 in Singapore
    ['stability-ai', 'stable-image-core', { images: 1 }, 0.03], // 3 credits of a cent
    ['stability-ai', 'stable-image-ultra', { images: 1 }, 0.08], // 8 credits
    ['stability-ai', 'sd3.5-large', { images: 2 }, 0.13], // 6.5 credits each
    ['stability-ai', 'upscale-creative', { images: 1 }, 0.6], // 60 credits
    ['runway', 'gen4.5', { seconds: 5 }, 0.6], // 12 credits of a cent a second
    ['runway', 'gen4_turbo', { seconds: 10 }, 0.5], // 5 credits a second
    ['luma', 'ray-3.2', { seconds: 5 }, 1.2], // a clip of five seconds at 1080p
    ['ideogram', 'ideogram-v4', { images: 3 }, 0.18],
    ['recraft', 'recraftv4_1', { images: 6 }, 0.24], // 40 units of a tenth of a cent each
    ['xai', 'speech', { characters: 1_000_000 }, 15],
    ['openai', 'tts-1', { characters: 4_096 }, 0.06144],
    ['openai', 'whisper-1', { seconds: 600 }, 0.06], // ten minutes
    ['openai', 'gpt-image-2', { inputTokens: 50, outputTokens: 4_160 }, 0.1252],
    ['google', 'veo-3.1-generate-preview', { seconds: 8 }, 3.2],
    ['google', 'veo-3.1-fast-generate-preview', { seconds: 8 }, 1.2],
    ['google', 'gemini-3.1-flash-image', { inputTokens: 0, outputTokens: 1_120 }, 0.0672], // one picture of 1K
    ['vertex', 'lyria-002', { seconds: 30 }, 0.06], // a clip
    ['vertex', 'chirp-3-hd', { characters: 100_000 }, 3],
    ['deepgram', 'aura-2-thalia-en', { characters: 1_000 }, 0.03],
    ['deepgram', 'nova-3', { seconds: 3_600 }, 0.312],
    ['groq', 'whisper-large-v3-turbo', { seconds: 3_600 }, 0.04],
    ['groq', 'whisper-large-v3', { seconds: 3_600 }, 0.111],
    ['siliconflow', 'Wan-AI/Wan2.2-T2V-A14B', {}, 0.29],
    ['ltx', 'ltx-2-3-fast', { seconds: 10 }, 1.6],
  ])('%s %s: %j', (id, model, usage, dollars) => {
    const price: Price = mediaPriceOf(id, model)!;
    expect(microsOf(price, usage)).toBe(Math.round(dollars * 1_000_000));
  });
});

type Providers = ReturnType<typeof localProviders>;
/** A provider with the key and, where they are given, the prices of its owner. */
function opened(providers: Providers, id: string, prices?: string) {
  const adapter = providers.list('media').find((one) => one.id === id)!;
  const values = { apiKey: 'the-key', endpoint: 'https://acme.openai.azure.com', ...(prices && { prices }) };
  return providers.mediaService(adapter, { orgId: null, values });
}

describe('a result that is priced by tokens', () => {
  const drawn = { model: 'gpt-image-2', prompt: PROMPT };
  const image: Exchange = {
    asks: {
      method: 'POST',
      url: 'https://api.openai.com/v1/images/generations',
      headers: { authorization: 'Bearer the-key' },
      json: drawn,
    },
    says: { json: { data: [{ b64_json: 'b25l' }], usage: { input_tokens: 50, output_tokens: 200 } } },
  };
  const spoken = { model: 'gemini-3.8-flash-tts', prompt: PROMPT };
  const speechConfig = { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } };
  const speech: Exchange = {
    asks: {
      method: 'POST',
      url: 'https://generativelanguage.googleapis.com/v1beta/models/gemini-3.8-flash-tts:generateContent',
      headers: { 'x-goog-api-key': 'the-key' },
      json: {
        contents: [{ role: 'user', parts: [{ text: PROMPT }] }],
        generationConfig: { responseModalities: ['AUDIO'], speechConfig },
      },
    },
    says: {
      json: {
        candidates: [{ content: { parts: [{ inlineData: { mimeType: 'audio/wav', data: 'b25l' } }] } }],
        usageMetadata: { promptTokenCount: 8, candidatesTokenCount: 50 },
      },
    },
  };
  const OWN = '{"gpt-image-2": {"input": 4, "output": 15}}';
  const OWN_MOST = '{"gpt-image-2": {"input": 4, "output": 15, "perImage": 0.2}}';

  test.each([
    ['a picture', 'openai', 'image', drawn, image, undefined, 6_400],
    ['a picture by the price of its owner', 'openai', 'image', drawn, image, OWN, 3_200],
    ['a picture of which its owner prices the most too', 'openai', 'image', drawn, image, OWN_MOST, 3_200],
    ['speech', 'google', 'speech', spoken, speech, undefined, 504],
  ] as const)(
    'is paid for by the tokens that its answer counts: %s',
    async (_, id, operation, asked, heard, own, micros) => {
      const wire = await sharedWire();
      await using providers = localProviders({ outbound: wire.outbound });
      wire.plays([heard]);
      const done = await opened(providers, id, own).start({ operation, ...asked, sources: [], key: 'k' });
      expect((done as MediaDone).cost).toEqual({ micros, source: 'price_table' });
    },
  );

  test('has no cost of its own where its answer counts no tokens, so that the estimate stands', async () => {
    const wire = await sharedWire();
    await using providers = localProviders({ outbound: wire.outbound });
    wire.plays([{ ...image, says: { json: { data: [{ b64_json: 'b25l' }] } } }]);
    const done = await opened(providers, 'openai').start({ operation: 'image', ...drawn, sources: [], key: 'k' });
    expect((done as MediaDone).cost).toBeUndefined();
  });

  test("is estimated by the most that the table knows where its owner's price says none", async () => {
    await using providers = localProviders();
    const asked = { operation: 'image', ...drawn, count: 2 } as const;
    const inputMicros = 4 * PROMPT.length;
    expect(opened(providers, 'openai', OWN).estimate(asked)?.micros).toBe(500_000 + inputMicros);
    expect(opened(providers, 'openai', OWN_MOST).estimate(asked)?.micros).toBe(400_000 + inputMicros);
  });

  test('has no estimate where nobody knows the most, so that no cap lets it pass unbounded', async () => {
    await using providers = localProviders();
    const asked = { operation: 'image', model: 'my-drawer', prompt: PROMPT } as const;
    const own = (price: string) => opened(providers, 'azure', `{"my-drawer": ${price}}`).estimate(asked);
    expect(own('{"input": 8, "output": 30}')).toBeUndefined();
    expect(own('{"input": 8, "output": 30, "perImage": 0.3}')?.micros).toBe(300_000 + 8 * PROMPT.length);
    expect(own('{"input": 0, "output": 0}')?.micros).toBe(0); // a server of its own
  });

  test('is estimated with the tokens of the pictures that it starts from', async () => {
    await using providers = localProviders();
    const estimated = (sources: number) =>
      opened(providers, 'openai').estimate({
        operation: 'edit',
        ...drawn,
        sources: Array.from({ length: sources }, () => picture),
      })!.micros;
    expect(estimated(16) - estimated(1)).toBe(15 * 8_000 * 8);
    expect(estimated(1)).toBeGreaterThan(250_000 + 8_000 * 8);
  });
});

test('what lasts as long as the sound that it starts from is estimated by the length of the sound', async () => {
  await using providers = localProviders();
  const estimated = (id: string, operation: MediaOperation, model: string) =>
    opened(providers, id).estimate({ operation, model, prompt: PROMPT, sources: [picture, sound] })?.micros;
  expect(estimated('ltx', 'avatar', 'ltx-2-3-pro')).toBe(7 * 320_000);
  expect(estimated('openai', 'transcription', 'whisper-1')).toBe(700);
  expect(opened(providers, 'ltx').estimate({ operation: 'video', model: 'ltx-2-3-pro', seconds: 6 })?.micros).toBe(
    6 * 320_000,
  );
});

test('a part of a video that is made anew is estimated by the length of the video, by which it is paid', async () => {
  await using providers = localProviders();
  const estimated = (lasting: Pick<SourceFile, 'seconds' | 'mostSeconds'>) =>
    opened(providers, 'ltx').estimate({
      operation: 'edit',
      model: 'ltx-2-3-pro',
      prompt: PROMPT,
      seconds: 3,
      sources: [{ ...film, ...lasting }],
    })?.micros;
  expect([estimated({ seconds: 60 }), estimated({ mostSeconds: 40 })]).toEqual([60 * 320_000, 40 * 320_000]);
  expect(estimated({ seconds: 2.5 })).toBe(3 * 320_000);
});

test('a sound of unknown length is estimated by the most that it can last, and that its model takes', async () => {
  await using providers = localProviders();
  const unknown: SourceFile = { ...film, kind: 'audio', mostSeconds: 882 };
  const estimated = (id: string, operation: MediaOperation, model: string) =>
    opened(providers, id).estimate({ operation, model, prompt: PROMPT, sources: [picture, unknown] })?.micros;
  expect(estimated('openai', 'transcription', 'whisper-1')).toBe(88_200);
  expect(estimated('ltx', 'avatar', 'ltx-2-3-pro')).toBe(20 * 320_000);
});

test.each([
  ['qwen', 'qwen3-tts-flash', 11.4682],
  ['minimax', 'speech-2.8-hd', 100],
])('%s counts a Han character as two, and so do its estimates', async (id, model, price) => {
  await using providers = localProviders();
  const estimated = (prompt: string) => opened(providers, id).estimate({ operation: 'speech', model, prompt })?.micros;
  expect(estimated('good morning')).toBe(Math.ceil(12 * price));
  expect(estimated('\u65e9\u4e0a\u597d!')).toBe(Math.ceil(7 * price));
});

test('siliconflow counts each byte of a text, and so do its estimate and its cost', async () => {
  const wire = await sharedWire();
  await using providers = localProviders({ outbound: wire.outbound });
  const said = { operation: 'speech', model: 'FunAudioLLM/CosyVoice2-0.5B', prompt: '\u65e9\u4e0a\u597d!' } as const;
  const micros = Math.ceil(10 * 21.45);
  const service = opened(providers, 'siliconflow');
  expect(service.estimate(said)?.micros).toBe(micros);
  wire.plays([
    {
      asks: {
        method: 'POST',
        url: 'https://api.siliconflow.com/v1/audio/speech',
        headers: { authorization: 'Bearer the-key' },
        json: { model: said.model, input: said.prompt, voice: `${said.model}:alex`, response_format: 'mp3' },
      },
      says: { text: 'sound', headers: { 'content-type': 'audio/mpeg' } },
    },
  ]);
  const done = await service.start({ ...said, sources: [], key: 'k' });
  expect((done as MediaDone).cost).toEqual({ micros, source: 'price_table' });
});
