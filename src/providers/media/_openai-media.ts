import { z } from 'zod';
import type { CallUsage } from '../kit/declare/cost.ts';
import { jsonBody } from '../kit/protocols/json-body.ts';
import type { Multipart } from '../kit/protocols/multipart.ts';
import { fileAnswer, type LargeCall, OPERATION_MS } from '../kit/wire/large.ts';
import type { MediaCalls, MediaDone, MediaRequest, Segment } from './_calls.ts';
import type { MediaLine } from './_contract.ts';
import { encoded, operations, outputOf, remote, type Told, transcribed, wholeText, withCost } from './_operations.ts';

// Pictures, speech and transcriptions in the bodies of OpenAI's API, which several brands share. A brand says what it
// sends; the answers are read here.

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

const pictureReply = (list: string, cost: Told | undefined) =>
  z.looseObject({ [list]: z.unknown(), usage: z.unknown().optional() }).transform((answer, context): MediaDone => {
    // one that was filtered is without its picture, beside others
    const outputs = [answer[list]].flat().flatMap((one) => Picture.safeParse(one).data ?? []);
    if (outputs.length === 0) context.addIssue({ code: 'custom', message: 'has no picture', path: [list] });
    const usage = Tokens.safeParse(answer['usage']).data ?? { images: outputs.length };
    return withCost(answer, cost, { outputs, usage });
  });

const Sound = z.object({ file: fileAnswer('audio', 'audio/mpeg') });

const Seconds = z.number().nonnegative();
/** The length that was transcribed. Where it is null or nothing it was not measured, and not free. */
const Length = z.coerce.number().positive().optional().catch(undefined);
const Transcript = z.looseObject({
  text: z.string(),
  duration: Length,
  segments: z.array(z.object({ start: Seconds, end: Seconds, text: z.string() })).optional(),
  usage: z.looseObject({ seconds: Length }).optional().catch(undefined),
});
const segmentOf = ({ start, end, text }: { start: number; end: number; text: string }): Segment => ({
  from: start,
  to: end,
  text: text.trim(),
});

/** What an operation sends otherwise than OpenAI; `list` as for the brand. Nothing where the request is a job. */
type Written = (request: MediaRequest) => ({ path?: string; list?: string } & Sent) | undefined;

/** A brand of OpenAI's operations: what differs. */
interface Brand {
  /** What its paths begin with. */
  under?: string;
  /** The field of an answer with the pictures, or with one. Default: `data`. */
  list?: string;
  /** Where answers tell what they cost. */
  cost?: Told;
  image?: Written;
  edit?: Written;
  upscale?: Written;
  /** What a request for speech is; else the usual voice, and the format. */
  speech?: (request: MediaRequest) => { path: string; json: object };
  voice?: string | ((model: string) => string);
  format?: 'mp3' | 'wav';
  /** How many characters of a text are paid for. Default: its length. */
  charactersOf?: (text: string) => number;
  /** The form of a transcription; else the field that asks for the times of its parts. */
  transcription?: (request: MediaRequest) => Multipart;
  times?: string;
  /** All other operations. */
  jobs?: (line: MediaLine) => MediaCalls;
}

const IMAGE: Written = ({ model, prompt, size, count }) => ({ json: { model, prompt, n: count, size } });
const EDIT: Written = ({ model, prompt, size, count, sources }) => ({
  multipart: { model: model!, prompt, n: count?.toString(), size, 'image[]': sources },
});
const EVERY_TIME = 'timestamp_granularities[]';

/** The operations as OpenAI has them, at the paths of its API, but for what a brand has otherwise. */
export function openaiMedia(brand: Brand = {}): (line: MediaLine) => MediaCalls {
  const { under = '', list = 'data', cost, voice: usual = 'alloy', format = 'mp3', times = EVERY_TIME, jobs } = brand;
  const { charactersOf = (text) => text.length } = brand;
  const spoken = ({ model, prompt, voice = typeof usual === 'string' ? usual : usual(model!) }: MediaRequest) => ({
    path: '/audio/speech',
    json: { model, input: prompt, voice, response_format: format },
  });
  const heard = ({ model, language, sources: [file] }: MediaRequest): Multipart => ({
    model: model!,
    language,
    response_format: 'verbose_json',
    [times]: 'segment',
    file,
  });
  return (line) => {
    const drawn = (usualPath: string, sent: Written) => (request: MediaRequest) => {
      const asked = sent(request);
      if (!asked) return undefined;
      const { path = usualPath, list: own = list, ...body } = asked;
      const call = { ...written(body), timeoutMs: OPERATION_MS.image, creates: true as const };
      return line.large(under + path, pictureReply(own, cost), call);
    };
    const atOnce: Parameters<typeof operations>[0] = {
      image: drawn('/images/generations', brand.image ?? IMAGE),
      edit: drawn('/images/edits', brand.edit ?? EDIT),
      ...(brand.upscale && { upscale: drawn('', brand.upscale) }),
      // the characters of the text are what is used
      async speech(request) {
        const { path, json } = (brand.speech ?? spoken)(request);
        const call = { json, timeoutMs: OPERATION_MS.speech, creates: true as const };
        const { file } = await line.large(under + path, Sound, call);
        return { outputs: [outputOf('audio', file)], usage: { characters: charactersOf(request.prompt ?? '') } };
      },
      async transcription(request) {
        const multipart = (brand.transcription ?? heard)(request);
        const told = await transcribed(line, `${under}/audio/transcriptions`, Transcript, { multipart });
        const length = told.usage?.seconds ?? told.duration ?? request.sources[0]?.seconds;
        const segments = told.segments ? told.segments.map(segmentOf) : wholeText(told.text.trim(), length);
        return withCost(told, cost, { outputs: [], segments, usage: length === undefined ? {} : { seconds: length } });
      },
    };
    return operations(atOnce, jobs?.(line));
  };
}

const Quota = z.enum(['insufficient_quota', 'billing_hard_limit_reached', 'billing_not_active']);
const Filtered = z.enum(['moderation_blocked', 'content_policy_violation', 'contentFilter', 'content_filter']);
/** Reads OpenAI's code of a refusal: a quota that is used up comes as 429, and a filter as any refusal. */
export const openaiErrorOf = z
  .object({ error: z.object({ code: z.union([Quota, Filtered]) }) })
  .transform(({ error }) => (Quota.safeParse(error.code).success ? ('exhausted' as const) : ('rejected' as const)));
