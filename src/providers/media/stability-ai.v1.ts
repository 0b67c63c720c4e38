import { z } from 'zod';
import type { Multipart } from '../kit/protocols/multipart.ts';
import { fileAnswer, OPERATION_MS } from '../kit/wire/large.ts';
import { bearerKey, creditsAt, shaped } from './_account.ts';
import { drawn, sound } from './_binary.ts';
import type { MediaHandle, MediaPolled, MediaStarted } from './_calls.ts';
import { alike, media, type MediaLine, sentFiles } from './_contract.ts';
import { operations, outputOf } from './_operations.ts';

const GENERATE = '/v2beta/stable-image/generate';
const UPSCALE = '/v2beta/stable-image/upscale';
const AUDIO = '/v2beta/audio';
const PATHS: Readonly<Record<string, string>> = { 'stable-image-ultra': 'ultra', 'stable-image-core': 'core' };
const ratios = ['1:1', '16:9', '21:9', '2:3', '3:2', '4:5', '5:4', '9:16', '9:21'];
const image = { promptLength: 10_000, ratios };
const sources = sentFiles(1, 1, 'image');
const drawing = { image, edit: { promptLength: 10_000, sources } };
const music = (to: number) =>
  ({ music: { promptLength: 10_000, seconds: { from: 1, to }, secondsNeeded: true } }) as const;
/** How far an edit goes from its picture. */
const STRENGTH = '0.65';
const PICTURE = { accept: 'image/*' };
const SOUND = { accept: 'audio/*' };

/** A form without a file is a form with files here too. */
const pathOf = (model: string | null) => `${GENERATE}/${PATHS[model!] ?? 'sd3'}`;
const formOf = (model: string | null, form: Multipart): Multipart => ({
  ...form,
  ...(!PATHS[model!] && { model: model! }),
  output_format: 'png',
});

const Started = z.object({ id: z.string().min(1) });
async function begun(
  { large }: MediaLine,
  path: string,
  multipart: Multipart,
  more: MediaHandle,
): Promise<MediaStarted> {
  const { id } = await large(path, Started, { multipart, timeoutMs: OPERATION_MS.submit, creates: true });
  return { state: 'running', handle: { id, ...more } };
}
const Result = z.union([
  z.object({ status: z.literal(202) }).transform((): MediaPolled => ({ state: 'running' })),
  z.object({ file: fileAnswer('image') }).transform(({ file }): MediaPolled => ({
    state: 'done',
    outputs: [outputOf('image', file)],
    usage: { images: 1 },
  })),
  z.object({ file: fileAnswer('audio') }).transform(({ file }): MediaPolled => ({
    state: 'done',
    outputs: [outputOf('audio', file)],
    usage: {},
  })),
]);

/** https://platform.stability.ai/docs/api-reference */
export default media({
  id: 'stability-ai',
  version: 'v1',
  status: 'active',
  title: 'Stability AI',
  description: 'Pictures, edits and upscaling by Stable Image, and music by Stable Audio.',
  website: 'https://stability.ai',
  ...bearerKey('platform.stability.ai/account/keys'),
  api: 'https://api.stability.ai',
  errorOf: shaped({ name: z.literal('content_moderation') }, 'rejected'),
  models: {
    'stable-image-core': { image },
    ...alike(drawing, 'stable-image-ultra', 'sd3.5-large', 'sd3.5-flash'),
    'upscale-fast': { upscale: { prompt: 'none', sources } },
    'upscale-creative': { upscale: { promptLength: 10_000, sources } },
    'stable-audio-2.5': music(190),
    'stable-audio-3': music(380),
  },
  rhythm: { everyMs: 10_000, mostMs: 1_800_000, keptMs: 86_400_000 },
  connect(line) {
    const atOnce = operations({
      image: ({ model, prompt, ratio }) =>
        drawn(line, pathOf(model), { multipart: formOf(model, { prompt, aspect_ratio: ratio }), headers: PICTURE }),
      edit: ({ model, prompt, sources: [picture] }) =>
        drawn(line, pathOf(model), {
          multipart: formOf(model, { prompt, mode: 'image-to-image', strength: STRENGTH, image: picture }),
          headers: PICTURE,
        }),
      upscale: ({ sources: [picture] }) =>
        drawn(line, `${UPSCALE}/fast`, { multipart: { image: picture, output_format: 'png' }, headers: PICTURE }),
      music: sound(line, ({ model, prompt, seconds = 30 }) => ({
        path: `${AUDIO}/stable-audio-2/text-to-audio`,
        multipart: { prompt, model: model!, duration: String(seconds), output_format: 'mp3' },
        headers: SOUND,
        usage: { seconds },
      })),
    });
    const later: Readonly<Record<string, (typeof atOnce)['start']>> = {
      'upscale-creative': ({ prompt, sources: [picture] }) =>
        begun(
          line,
          `${UPSCALE}/creative`,
          { image: picture, prompt, output_format: 'png' },
          { results: '/v2beta/results', ...PICTURE },
        ),
      'stable-audio-3': ({ model, prompt, seconds = 30 }) =>
        begun(
          line,
          `${AUDIO}/stable-audio/text-to-audio`,
          { prompt, model: model!, duration: String(seconds), output_format: 'mp3' },
          { results: `${AUDIO}/results`, ...SOUND },
        ),
    };
    return {
      start: (request) => (later[request.model ?? ''] ?? atOnce.start)(request),
      poll: ({ id, results, accept }) =>
        line.large(`${results}/${encodeURIComponent(String(id))}`, Result, {
          method: 'GET',
          headers: { accept: String(accept) },
          replyStatus: true,
          timeoutMs: OPERATION_MS.submit,
        }),
    };
  },
  check: creditsAt('/v1/user/balance', 'credits'),
});
