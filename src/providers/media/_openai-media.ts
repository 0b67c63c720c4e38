import { z } from 'zod';
import type { CallUsage } from '../kit/declare/cost.ts';
import { jsonBody } from '../kit/protocols/json-body.ts';
import type { Multipart } from '../kit/protocols/multipart.ts';
import { fileAnswer, type LargeCall, OPERATION_MS } from '../kit/wire/large.ts';
import type { MediaCalls, MediaDone, MediaLine, MediaRequest, Segment, Takes } from './_contract.ts';
import { encoded, operations, outputOf, remote, type Told, wholeText, withCost } from './_operations.ts';

// Pictures, speech and transcriptions in the bodies of OpenAI's API, which several brands share. A brand says what it
// sends; the answers are read here.

type Line = Pick<MediaLine, 'large'>;

/** A JSON body, which may hold files, or a form with files. */
type Sent = { json: object } | { multipart: Multipart };
const written = (sent: Sent): LargeCall => ('json' in sent ? { bytes: jsonBody(sent.json) } : sent);

const Count = z.number().nonnegative();
const Tokens = z
  .object({ input_tokens: Count, output_tokens: Count })
  .transform(({ input_tokens, output_tokens }): CallUsage => ({
    inputTokens: input_tokens,
    outputTokens: output_tokens,
  }));

const Picture = z.union([
  z.object({ b64_json: encoded('image', 'image/png') }).transform(({ b64_json }) => b64_json),
  z.object({ url: remote('image') }).transform(({ url }) => url),
]);

interface PictureReply {
  /** The field with the pictures, or with one. Default: `data`. */
  list?: string;
  /** Where the answer tells what it cost. */
  cost?: Told;
}
const pictureReply = ({ list = 'data', cost }: PictureReply) =>
  z.looseObject({ [list]: z.unknown(), usage: z.unknown().optional() }).transform((answer, context): MediaDone => {
    // one that was filtered is without its picture, beside others
    const outputs = [answer[list]].flat().flatMap((one) => Picture.safeParse(one).data ?? []);
    if (outputs.length === 0) context.addIssue({ code: 'custom', message: 'has no picture', path: [list] });
    const usage = Tokens.safeParse(answer['usage']).data ?? { images: outputs.length };
    return withCost(answer, cost, { outputs, usage });
  });

/** Asks for pictures. */
export const pictures = ({ large }: Line, path: string, sent: Sent, reply: PictureReply = {}): Promise<MediaDone> =>
  large(path, pictureReply(reply), { ...written(sent), timeoutMs: OPERATION_MS.image, creates: true });

const Sound = z.object({ file: fileAnswer('audio', 'audio/mpeg') });

/** Asks for speech; the characters of the text are what is used. */
export async function speech({ large }: Line, path: string, json: object, text = ''): Promise<MediaDone> {
  const { file } = await large(path, Sound, { json, timeoutMs: OPERATION_MS.speech, creates: true });
  return { outputs: [outputOf('audio', file)], usage: { characters: text.length } };
}

const Seconds = z.number().nonnegative();
const Transcript = z.looseObject({
  text: z.string(),
  duration: z.coerce.number().optional().catch(undefined),
  segments: z.array(z.object({ start: Seconds, end: Seconds, text: z.string() })).optional(),
  usage: z
    .looseObject({ seconds: Seconds.optional().catch(undefined) })
    .optional()
    .catch(undefined),
});
/** Greatest length of a transcription, with the times of its words, which are not asked for but may come. */
const TRANSCRIPT_BYTES = 8 * 1024 * 1024;

interface Transcribed {
  multipart: Multipart;
  cost?: Told;
}
/** Asks for a transcription. `seconds`: the length of the sound, where it is known and the answer tells none. */
export async function transcription(
  { large }: Line,
  path: string,
  { multipart, cost }: Transcribed,
  { seconds }: Pick<MediaRequest, 'seconds'>,
): Promise<MediaDone> {
  const told = await large(path, Transcript, {
    multipart,
    answerBytes: TRANSCRIPT_BYTES,
    timeoutMs: OPERATION_MS.speech,
    creates: true,
  });
  const length = told.usage?.seconds ?? told.duration ?? seconds;
  return withCost(told, cost, {
    outputs: [],
    segments: told.segments ? told.segments.map(segmentOf) : wholeText(told.text.trim(), length),
    usage: length === undefined ? {} : { seconds: length },
  });
}
const segmentOf = ({ start, end, text }: { start: number; end: number; text: string }): Segment => ({
  from: start,
  to: end,
  text: text.trim(),
});

/** The form of a transcription with the times of its parts; the field that asks for them has two names. */
export const transcriptForm = (
  { model, language, sources }: MediaRequest,
  times: 'timestamp_granularities[]' | 'timestamp_granularities' = 'timestamp_granularities[]',
): Multipart => ({
  model: model ?? undefined,
  language,
  response_format: 'verbose_json',
  [times]: 'segment',
  file: sources[0],
});

/** The operations as OpenAI has them, at the paths of its API. */
export const openaiMedia = (line: Line): MediaCalls =>
  operations({
    image: ({ model, prompt, size, count }) =>
      pictures(line, '/images/generations', { json: { model, prompt, n: count, size } }),
    edit: ({ model, prompt, size, count, sources }) =>
      pictures(line, '/images/edits', {
        multipart: { model: model!, prompt, n: count?.toString(), size, 'image[]': sources },
      }),
    speech: ({ model, prompt, voice = 'alloy' }) =>
      speech(line, '/audio/speech', { model, input: prompt, voice, response_format: 'mp3' }, prompt),
    transcription: (request) =>
      transcription(line, '/audio/transcriptions', { multipart: transcriptForm(request) }, request),
  });

/** What a transcription starts from. */
export const ONE_SOUND: Takes = {
  prompt: 'none',
  languages: true,
  sources: { kinds: ['audio', 'video'], min: 1, max: 1 },
};

const Quota = z.enum(['insufficient_quota', 'billing_hard_limit_reached', 'billing_not_active']);
const Filtered = z.enum(['moderation_blocked', 'content_policy_violation', 'contentFilter', 'content_filter']);
/** Reads OpenAI's code of a refusal: a quota that is used up comes as 429, and a filter as any refusal. */
export const openaiErrorOf = z
  .object({ error: z.object({ code: z.union([Quota, Filtered]) }) })
  .transform(({ error }) => (Quota.safeParse(error.code).success ? ('exhausted' as const) : ('rejected' as const)));
