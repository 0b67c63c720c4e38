import { z } from 'zod';
import { codeAt, keyIn, regionField } from './_account.ts';
import { sound } from './_binary.ts';
import { media, ONE_SOUND } from './_contract.ts';
import { operations, segmentsOf, transcribed } from './_operations.ts';

/** A credit of the plan Creator, 100,000 for 22 dollars. */
const cost = { header: 'character-cost', micros: 220 };
const query = { output_format: 'mp3_44100_128' };
const GEORGE = 'JBFqnCBsd6RMkjVDRZzb';
const Transcript = z.object({
  words: z.array(
    z.object({ text: z.string(), type: z.string(), start: z.number().nullish(), end: z.number().nullish() }),
  ),
  /** With the silence behind the last word, which is billed, too. */
  audio_duration_secs: z.number().positive().optional().catch(undefined),
});
const speech = (promptLength: number) => ({ speech: { promptLength, voices: 'any', languages: true } }) as const;
const REFUSALS = {
  exhausted: ['quota_exceeded'], // comes as 401
  unavailable: ['system_busy'], // comes as 429, before anything began
  rate_limited: ['too_many_concurrent_requests'],
  rejected: ['content_against_policy', 'voice_not_allowed'],
};

/** https://elevenlabs.io/docs/api-reference */
export default media({
  id: 'elevenlabs',
  version: 'v1',
  status: 'active',
  title: 'ElevenLabs',
  description: 'Voices, music and transcriptions.',
  website: 'https://elevenlabs.io',
  setupNotes: 'What the free plan makes may not be used commercially.',
  api: 'https://api.elevenlabs.io',
  regions: { eu: 'https://api.eu.residency.elevenlabs.io' },
  ...keyIn({ name: 'xi-api-key' }, 'elevenlabs.io/app/settings/api-keys', {
    fields: { region: regionField({ global: 'Global', eu: 'European Union' }, { label: 'Residency' }) },
  }),
  errorOf: codeAt('detail.status', REFUSALS),
  models: {
    eleven_multilingual_v2: speech(10_000),
    eleven_v3: speech(5_000),
    eleven_flash_v2_5: speech(40_000),
    music_v1: { music: { promptLength: 2_000, seconds: { from: 10, to: 300 }, secondsNeeded: true } },
    scribe_v2: {
      transcription: ONE_SOUND,
    },
  },
  connect: (line) => ({
    ...operations({
      speech: sound(
        line,
        ({ model, prompt = '', voice = GEORGE, language }) => ({
          path: `/v1/text-to-speech/${encodeURIComponent(voice)}`,
          query,
          json: { text: prompt, model_id: model, language_code: language },
          usage: { characters: prompt.length },
        }),
        cost,
      ),
      music: sound(
        line,
        ({ model, prompt, seconds = 30 }) => ({
          path: '/v1/music',
          query,
          json: { prompt, music_length_ms: Math.round(seconds * 1000), model_id: model },
          usage: { seconds },
        }),
        cost,
      ),
      async transcription({ model, language, sources: [file] }) {
        const told = await transcribed(line, '/v1/speech-to-text', Transcript, {
          multipart: { model_id: model!, language_code: language, timestamps_granularity: 'word', file },
        });
        const length = told.audio_duration_secs ?? file?.seconds;
        const spoken = told.words.flatMap(({ text: word, type, start, end }) =>
          type === 'word' && typeof start === 'number' ? [{ from: start, to: end ?? start, text: word }] : [],
        );
        return {
          outputs: [],
          segments: segmentsOf(spoken),
          usage: length === undefined ? {} : { seconds: length },
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
