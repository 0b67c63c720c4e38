import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { OPERATION_MS } from '../kit/wire/large.ts';
import { bearerKey, shaped } from './_account.ts';
import { alike, fetchedFiles, media, ONE_SOUND, sentFiles } from './_contract.ts';
import { asJson, jobPoll } from './_job-poll.ts';
import { openaiMedia } from './_openai-media.ts';
import { firstAsUrl, operations, segmentsOf, wholeText } from './_operations.ts';

/** Ten thousand million ticks are a dollar. */
const TICK_MICROS = 1 / 10_000;
const cost = { at: ['usage', 'cost_in_usd_ticks'], micros: TICK_MICROS };
const ratios = ['1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3', '2:1', '1:2'];
const picture = { ratios, count: 10 };
const drawing = { image: picture, edit: { count: 10, sources: sentFiles(1, 1, 'image') } } as const;
const video = {
  ratios: ['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3'],
  seconds: { from: 1, to: 15 },
  secondsNeeded: true,
  sources: fetchedFiles(0, 1, 'image'),
} as const;

const Transcript = z.object({
  text: z.string(),
  duration: z.number().optional(),
  words: z.array(z.object({ text: z.string(), start: z.number(), end: z.number() })).optional(),
});
const Blocked = z.object({ respect_moderation: z.literal(false) });

const jobs = jobPoll({
  video: {
    submit: asJson('/videos/generations', ({ model, prompt, ratio, seconds, images: [url] }) => ({
      model,
      prompt,
      duration: seconds,
      aspect_ratio: ratio,
      ...(url && { image: { url } }),
    })),
    id: 'request_id',
    poll: '/videos/{id}',
    unnamed: 'running', // 202 without a body
    progress: ['progress', 100],
    outputs: 'video.url',
    error: ['error.message', 'error'],
    failures: [[/guideline|moderat|policy/i, 'rejected']],
    usage: { seconds: { at: 'video.duration' } },
    cost: { at: cost.at.join('.'), micros: TICK_MICROS },
  },
});

/** https://docs.x.ai/docs/api-reference */
export default media({
  id: 'xai',
  version: 'v1',
  status: 'active',
  title: 'xAI',
  description: 'Pictures, videos and speech by Grok, and transcriptions.',
  website: 'https://x.ai',
  ...bearerKey('console.x.ai'),
  api: 'https://api.x.ai/v1',
  errorOf: z.union([
    shaped({ status: z.literal(400), error: z.string().regex(/incorrect api key/i) }, 'reauthorize'),
    z
      .object({ error: z.union([z.string(), z.object({ message: z.string() }).transform(({ message }) => message)]) })
      .refine(({ error }) => /guideline|moderat/i.test(error))
      .transform(() => 'rejected' as const),
  ]),
  errorInside: z
    .union([z.object({ data: z.array(Blocked).min(1) }), z.object({ video: Blocked })])
    .transform(() => 'rejected' as const),
  models: {
    ...alike(drawing, 'grok-imagine-image', 'grok-imagine-image-quality'),
    ...alike({ video }, 'grok-imagine-video', 'grok-imagine-video-1.5'),
  },
  actions: {
    speech: { promptLength: 15_000, voices: ['ara', 'eve', 'leo', 'rex', 'sal'], languages: true },
    transcription: ONE_SOUND,
  },
  connect: (line) =>
    operations(
      {
        async transcription({ language, sources: [file] }) {
          const told = await line.http.post('/stt', Transcript, {
            multipart: { language, file },
            timeoutMs: OPERATION_MS.speech,
            creates: true,
          });
          const spoken = told.words?.map((word) => ({ from: word.start, to: word.end, text: word.text }));
          const length = told.duration || file?.seconds; // nothing: it was not measured
          return {
            outputs: [],
            segments: spoken ? segmentsOf(spoken) : wholeText(told.text, length),
            usage: length === undefined ? {} : { seconds: length },
          };
        },
      },
      openaiMedia({
        cost,
        image: ({ model, prompt, ratio, count }) => ({
          json: { model, prompt, n: count, aspect_ratio: ratio, response_format: 'b64_json' },
        }),
        edit: (request) => ({
          json: {
            model: request.model,
            prompt: request.prompt,
            n: request.count,
            image: { url: firstAsUrl(request), type: 'image_url' },
            response_format: 'b64_json',
          },
        }),
        speech: ({ prompt, voice = 'eve', language = 'auto' }) => ({
          path: '/tts',
          json: { text: prompt, voice_id: voice, language, output_format: { codec: 'mp3' } },
        }),
        jobs,
      })(line),
    ),
  async check({ http }) {
    const { api_key_blocked, api_key_disabled } = await http.get(
      '/api-key',
      z.object({ api_key_blocked: z.boolean(), api_key_disabled: z.boolean() }),
    );
    if (api_key_blocked || api_key_disabled) throw refused('reauthorize', 'xAI knows the key, but has blocked it');
    return 'The key is accepted';
  },
});
