import { describe, expect, test } from '@jest/globals';
import { microsOf, type Price } from '../../../src/providers/kit/declare/cost.ts';
import { mediaPriceOf } from '../../../src/providers/media/_prices.ts';
import type { CallUsage } from '../../../src/providers/registry/index.ts';
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
