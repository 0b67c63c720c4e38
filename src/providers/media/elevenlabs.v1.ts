import { z } from 'zod';
import { secret } from '../kit/declare/fields.ts';
import { OPERATION_MS } from '../kit/wire/large.ts';
import { sound } from './_binary.ts';
import { media } from './_contract.ts';
import { operations, segmentsOf } from './_operations.ts';
import { regionField } from './_region.ts';

/** A credit of the plan Creator, 100,000 for 22 dollars. */
const cost = { header: 'character-cost', micros: 220 };
const query = { output_format: 'mp3_44100_128' };
const GEORGE = 'JBFqnCBsd6RMkjVDRZzb';
const TRANSCRIPT_BYTES = 8 * 1024 * 1024;
const Transcript = z.object({
  words: z.array(
    z.object({ text: z.string(), type: z.string(), start: z.number().nullish(), end: z.number().nullish() }),
  ),
});
const speech = (promptLength: number) => ({ speech: { promptLength, voices: 'any', languages: true } }) as const;
const REFUSALS = {
  quota_exceeded: 'exhausted', // comes as 401
  system_busy: 'unavailable', // comes as 429, before anything began
  too_many_concurrent_requests: 'rate_limited',
  content_against_policy: 'rejected',
  voice_not_allowed: 'rejected',
} as const;

/** https://elevenlabs.io/docs/api-reference */
export default media({
  id: 'elevenlabs',
  version: 'v1',
  status: 'active',
  title: 'ElevenLabs',
  description: 'Voices, music and transcriptions.',
  website: 'https://elevenlabs.io',
  authType: 'api_key',
  setupNotes: 'What the free plan makes may not be used commercially.',
  credentials: {
    apiKey: secret('API key', { help: 'elevenlabs.io/app/settings/api-keys' }),
    region: regionField({ global: 'Global', eu: 'European Union' }, { label: 'Residency' }),
  },
  api: 'https://api.elevenlabs.io',
  regions: { eu: 'https://api.eu.residency.elevenlabs.io' },
  auth: { in: 'header', name: 'xi-api-key', field: 'apiKey' },
  errorOf: z
    .object({ detail: z.object({ status: z.enum(Object.keys(REFUSALS) as (keyof typeof REFUSALS)[]) }) })
    .transform(({ detail }) => REFUSALS[detail.status]),
  models: [
    { id: 'eleven_multilingual_v2', operations: speech(10_000) },
    { id: 'eleven_v3', operations: speech(5_000) },
    { id: 'eleven_flash_v2_5', operations: speech(40_000) },
    {
      id: 'music_v1',
      operations: { music: { promptLength: 2_000, seconds: { from: 10, to: 300 }, secondsNeeded: true } },
    },
    {
      id: 'scribe_v2',
      operations: {
        transcription: { prompt: 'none', languages: true, sources: { kinds: ['audio', 'video'], min: 1, max: 1 } },
      },
    },
  ],
  connect: (line) => ({
    ...operations({
      speech: ({ model, prompt = '', voice = GEORGE, language }) =>
        sound(
          line,
          `/v1/text-to-speech/${encodeURIComponent(voice)}`,
          { query, json: { text: prompt, model_id: model, language_code: language } },
          { usage: { characters: prompt.length }, cost },
        ),
      music: ({ model, prompt, seconds = 30 }) =>
        sound(
          line,
          '/v1/music',
          {
            query,
            json: { prompt, music_length_ms: Math.round(seconds * 1000), model_id: model },
            timeoutMs: OPERATION_MS.image,
          },
          { usage: { seconds }, cost },
        ),
      async transcription({ model, language, sources, seconds }) {
        const { words } = await line.large('/v1/speech-to-text', Transcript, {
          multipart: { model_id: model!, language_code: language, timestamps_granularity: 'word', file: sources[0] },
          answerBytes: TRANSCRIPT_BYTES,
          timeoutMs: OPERATION_MS.speech,
          creates: true,
        });
        const spoken = words.flatMap(({ text: word, type, start, end }) =>
          type === 'word' && typeof start === 'number' ? [{ from: start, to: end ?? start, text: word }] : [],
        );
        return {
          outputs: [],
          segments: segmentsOf(spoken),
          usage: { seconds: seconds ?? Math.ceil(words.at(-1)?.end ?? 0) },
        };
      },
    }),
    tools: {
      async voices() {
        const Voices = z.object({ voices: z.array(z.object({ voice_id: z.string(), name: z.string() })) });
        const { voices } = await line.http.get('/v2/voices', Voices, { query: { page_size: '100' } });
        return voices.map(({ voice_id, name }) => ({ id: voice_id, label: name }));
      },
    },
  }),
  async check({ http }) {
    const Plan = z.object({ character_count: z.number(), character_limit: z.number() });
    const plan = await http.find('/v1/user/subscription', Plan, {
      // a wrong key is refused by another word
      absent: z.object({ detail: z.object({ status: z.literal('missing_permissions') }) }),
    });
    if (!plan) return 'The key is accepted; it may not read its account';
    return `The key is accepted; ${plan.character_limit - plan.character_count} credits are left`;
  },
});
