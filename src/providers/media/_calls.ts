import type { ProviderFailure } from '../../platform/kernel/index.ts';
import type { Cost, CallUsage } from '../kit/declare/cost.ts';
import type { SentFile } from '../kit/declare/media.ts';

// What providers of media are asked and what they answer.

export const MEDIA_OPERATIONS = [
  'image',
  'edit',
  'video',
  'speech',
  'transcription',
  'music',
  'avatar',
  'upscale',
  'slideshow',
] as const;
export type MediaOperation = (typeof MEDIA_OPERATIONS)[number];
/** The purposes for which an owner can make a setting of this domain the default, and the operations behind them. */
export const MEDIA_PURPOSES = {
  image: 'image',
  video: 'video',
  voice: 'speech',
  transcription: 'transcription',
  music: 'music',
} as const;
export type MediaPurpose = keyof typeof MEDIA_PURPOSES;

/** A file of the library that an operation starts from; read in ranges, never as a whole. */
export interface SourceFile extends SentFile {
  kind: 'image' | 'video' | 'audio';
  /** The length of a video or sound, where it is known. */
  seconds?: number;
  /** The most that a video or sound can last whose length is not known: a bound for estimates, never its length. */
  mostSeconds?: number;
  /** Absent where nobody outside can reach this server; then providers that fetch files themselves refuse. */
  publicUrl?: string;
}

/** A request that was checked against what the model takes. */
export interface MediaRequest {
  operation: MediaOperation;
  /** Null where the operation is an action of the provider without models. */
  model: string | null;
  prompt?: string;
  size?: string;
  ratio?: string;
  seconds?: number;
  count?: number;
  voice?: string;
  language?: string;
  options?: Readonly<Record<string, string>>;
  sources: readonly SourceFile[];
  /** Stable over attempts: the id of the job, for providers that take a key or list jobs by a name. */
  key: string;
  /** Where the provider may tell that it is done; absent where nobody outside can reach this server. */
  callbackUrl?: string;
}

/**
 * One result: the address at which the provider has it for a while, or bytes that came with the answer and lie in a
 * file of this machine until they are discarded.
 */
export type MediaOutput = { kind: 'image' | 'video' | 'audio' | 'document' } & (
  | { url: string; /** The provider wants its key at this address. */ withKey?: true }
  | { contentType: string; size: number; open(): AsyncIterable<Uint8Array>; discard(): Promise<void> }
);
/** Words of a transcription, in seconds from the beginning. */
export interface Segment {
  from: number;
  to: number;
  text: string;
}
export interface MediaDone {
  outputs: readonly MediaOutput[];
  /** Of a transcription. */
  segments?: readonly Segment[];
  usage: CallUsage;
  /** Absent where the answer tells none: the price is then that of the estimate. */
  cost?: Cost;
}

/** The name of a running operation at the provider, as JSON: it is stored and outlives the process. */
export type MediaHandle = Readonly<Record<string, string | number | boolean | null>>;
export type MediaStarted = ({ state: 'done' } & MediaDone) | { state: 'running'; handle: MediaHandle };
export type MediaPolled =
  | ({ state: 'done' } & MediaDone)
  /** `progress`: 0 to 100. `waitMs`: the provider asks not to be asked earlier. */
  | { state: 'running'; progress?: number; waitMs?: number }
  /** The provider's last word; `rejected` for the content, else as for a call. `billed`: it has done the work. */
  | { state: 'failed'; failure: ProviderFailure; message: string; billed?: true };

/** The calls of one provider with its owner's key. `start` costs money: it is `lost` without an answer. */
export interface MediaCalls {
  start(request: MediaRequest, signal?: AbortSignal): Promise<MediaStarted>;
  /** Absent where every answer comes at once. The prompt is removed from what the provider says. */
  poll?(handle: MediaHandle, prompt?: string): Promise<MediaPolled>;
  /** Absent where a running operation cannot be ended. */
  cancel?(handle: MediaHandle): Promise<void>;
  /**
   * Finds the operation of a submit whose answer was lost, sent after `since`. Absent where the provider neither lists
   * nor takes a key. Where it lists, operations are told apart by what they were asked: another job may hold the handle.
   */
  find?(request: MediaRequest, since: Date): Promise<MediaHandle | undefined>;
  /** Lists what an option can be, such as voices, avatars and templates, by the name of the tool. */
  tools?: Readonly<Record<string, () => Promise<readonly { id: string; label: string }[]>>>;
}
/** The part of a request that its greatest cost depends on. */
export type AskedCost = Pick<MediaRequest, 'operation' | 'model' | 'prompt' | 'seconds' | 'count'> &
  Partial<Pick<MediaRequest, 'sources'>>;
/** A provider of pictures, videos and sound. Failures are `ProviderError`s; nothing is repeated here. */
export interface MediaService extends MediaCalls {
  /** Answers the greatest cost that a request can have. Undefined: the model has no price. */
  estimate(request: AskedCost): Cost | undefined;
  /** Opens the bytes of an output, through the guard; the body must be read to its end or cancelled. */
  download(output: MediaOutput): Promise<{
    contentType: string | undefined;
    bytes: number | undefined;
    body: AsyncIterable<Uint8Array>;
    cancel(): void;
  }>;
}
