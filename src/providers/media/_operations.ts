import { z } from 'zod';
import type { Cost } from '../kit/declare/cost.ts';
import { asDataUrl } from '../kit/protocols/json-body.ts';
import { base64File, type LargeCall, type LargeFile, OPERATION_MS } from '../kit/wire/large.ts';
import type { MediaCalls, MediaDone, MediaOperation, MediaOutput, MediaRequest, Segment } from './_calls.ts';
import type { MediaLine } from './_contract.ts';

/** An operation whose answer is the result; it answers nothing to a request that is a job all the same. */
type AtOnce = (request: MediaRequest) => Promise<MediaDone> | undefined;

/** Joins operations whose answer is the result; all others are `jobs`. */
export const operations = (atOnce: Partial<Record<MediaOperation, AtOnce>>, jobs?: MediaCalls): MediaCalls => ({
  ...jobs,
  async start(request, signal) {
    const done = await atOnce[request.operation]?.(request);
    return done ? { state: 'done', ...done } : jobs!.start(request, signal);
  },
});

const HttpUrl = z.url({ protocol: /^https?$/ });
type Kind = MediaOutput['kind'];
export const outputOf = (kind: Kind, file: LargeFile): MediaOutput => ({ kind, ...file });
export const remote = (kind: Kind) => HttpUrl.transform((url): MediaOutput => ({ kind, url }));
/** Bytes in base64, or a `data:` address of them. */
export const encoded = (kind: Kind, contentType: string) =>
  base64File(contentType).transform((file) => outputOf(kind, file));

/** Reads the amount at a place of an answer, in a unit of so many millionths of a dollar. */
export interface Told {
  at: readonly string[];
  micros: number;
}
function costIn(answer: unknown, told: Told | undefined): Cost | undefined {
  const value = told?.at.reduce<unknown>((inner, name) => (Object(inner) as Record<string, unknown>)[name], answer);
  const amount = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof amount !== 'number' || !Number.isFinite(amount)) return undefined;
  return { micros: Math.ceil(Number((amount * told!.micros).toFixed(6))), source: 'reply' };
}
/** A result with what its answer says that it cost. */
export function withCost(answer: unknown, told: Told | undefined, done: MediaDone): MediaDone {
  const cost = costIn(answer, told);
  return { ...done, ...(cost && { cost }) };
}

/** Greatest length of a transcription, with the times of its words, which may come unasked. */
const TRANSCRIPT_BYTES = 8 * 1024 * 1024;
/** Asks for a transcription. */
export const transcribed = <S extends z.ZodType>(
  { large }: Pick<MediaLine, 'large'>,
  path: string,
  reply: S,
  call: LargeCall,
) => large(path, reply, { ...call, answerBytes: TRANSCRIPT_BYTES, timeoutMs: OPERATION_MS.speech, creates: true });

/** Characters that are said in a second. */
const PACE = 15;
/** A transcription of which only the text is told: without a length it is shown for as long as it takes to say it. */
export const wholeText = (text: string, seconds: number | undefined): Segment[] =>
  text === '' ? [] : [{ from: 0, to: seconds ?? Math.ceil(text.length / PACE), text }];

const PAUSE_S = 0.8;
const LONGEST_S = 6;
const LONGEST_TEXT = 84; // two lines of a caption
export interface Word {
  from: number;
  to: number;
  text: string;
}
/** Joins words to captions: a pause, the end of a sentence or too long a text begins the next one. */
export function segmentsOf(words: readonly Word[]): Segment[] {
  const segments: Segment[] = [];
  for (const { from, to, text } of words) {
    const last = segments.at(-1);
    const joined = last && `${last.text} ${text}`;
    if (
      !last ||
      /[.!?\u3002]$/.test(last.text) ||
      from - last.to > PAUSE_S ||
      to - last.from > LONGEST_S ||
      joined!.length > LONGEST_TEXT
    )
      segments.push({ from, to, text });
    else segments[segments.length - 1] = { from: last.from, to, text: joined! };
  }
  return segments;
}

/** The file that an operation starts from, as `data:` address; undefined without one. */
export const firstAsUrl = ({ sources }: MediaRequest): unknown => sources[0] && asDataUrl(sources[0]);

/** Width and height of a size. */
export function pixelsOf(size: string | undefined): { width?: number; height?: number } {
  const [width, height] = (size ?? '').split('x').map(Number);
  return width && height ? { width, height } : {};
}
