import type { ProviderFailure } from '../../platform/kernel/index.ts';
import type { Adapter, Manifest } from '../kit/declare/adapter.ts';
import { choiceFields, pricesField } from '../kit/declare/choices.ts';
import type { Cost, CallUsage } from '../kit/declare/cost.ts';
import type { Fields } from '../kit/declare/fields.ts';
import type { Line } from '../kit/declare/line.ts';
import type { SentFile } from '../kit/declare/media.ts';

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

/** Values that an operation of a model takes; what is absent is not offered, and refused when it is asked for. */
export interface Takes {
  /** Greatest number of characters of the prompt, or of the text to speak. */
  promptLength?: number;
  /** `1024x1024`. */
  sizes?: readonly string[];
  /** `16:9`. */
  ratios?: readonly string[];
  /** Lengths in seconds, or the shortest and the longest. */
  seconds?: readonly number[] | { from: number; to: number };
  /** A length must be named: nothing else bounds the price. */
  secondsNeeded?: true;
  /** Greatest number of outputs of one call. */
  count?: number;
  voices?: readonly string[] | 'any';
  /** Whether it takes a language (BCP 47). */
  languages?: true;
  /**
   * Kinds of files of the library that it starts from, with how many. `fetched`: the provider fetches them itself, from
   * `SourceFile.publicUrl`.
   */
  sources?: { kinds: readonly SourceFile['kind'][]; min: number; max: number; fetched?: true };
  /** Whether a prompt is needed. Default: `required`. */
  prompt?: 'required' | 'optional' | 'none';
  /** Of each group one must be given: a field, `options.<name>`, or a kind of source. */
  anyOf?: readonly (readonly string[])[];
  /** Further named values, such as an avatar or a template, that are looked up by `tools`. */
  options?: Readonly<Record<string, { label: string; required?: true; tool?: string; number?: true }>>;
}
export interface MediaModel {
  id: string;
  operations: Readonly<Partial<Record<MediaOperation, Takes>>>;
}

/** Declares files that the provider fetches itself. */
export const fetchedFiles = (
  min: number,
  max: number,
  ...kinds: SourceFile['kind'][]
): NonNullable<Takes['sources']> => ({
  kinds,
  min,
  max,
  fetched: true,
});

/** A file of the library that an operation starts from; read in ranges, never as a whole. */
export interface SourceFile extends SentFile {
  kind: 'image' | 'video' | 'audio';
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
  /** The provider's last word; `rejected` for the content, else as for a call. */
  | { state: 'failed'; failure: ProviderFailure; message: string };

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
/** A provider of pictures, videos and sound. Failures are `ProviderError`s; nothing is repeated here. */
export interface MediaService extends MediaCalls {
  /** Answers the greatest cost that a request can have. Undefined: the model has no price. */
  estimate(request: Pick<MediaRequest, 'operation' | 'model' | 'prompt' | 'seconds' | 'count'>): Cost | undefined;
  /** Opens the bytes of an output, through the guard; the body must be read to its end or cancelled. */
  download(output: MediaOutput): Promise<{
    contentType: string | undefined;
    bytes: number | undefined;
    body: AsyncIterable<Uint8Array>;
    cancel(): void;
  }>;
}

export type MediaLine<F extends Fields = Fields> = Line<'http' | 'large' | 'stream', F>;
export interface MediaFacts {
  /** `action`: selectable without a model. `hub`: models of others. `direct`: its own. */
  kind: 'direct' | 'hub' | 'action';
  mediaCategories: readonly string[];
  operations: readonly MediaOperation[];
  models: readonly string[];
}

export interface MediaSpec<F extends Fields> extends Manifest<F> {
  /** Known models, the default one of each operation first. */
  models: readonly MediaModel[];
  /** It offers models of others. */
  hub?: true;
  /** Operations of the provider that have no model. */
  actions?: MediaModel['operations'];
  /** Models beside the known ones whose ids have this form, with limits: a catalogue that is too large to list. */
  anyModel?: { id: RegExp; operations: MediaModel['operations'] };
  /**
   * Milliseconds between two polls, after which a running operation is given up, and for which results are kept.
   * Default: `RHYTHM`.
   */
  rhythm?: { everyMs: number; mostMs: number; keptMs?: number };
  connect(line: MediaLine<F>): MediaCalls;
  check?(line: MediaLine<F>): Promise<string | void>;
}
export type MediaAdapter<F extends Fields = Fields> = MediaSpec<F> & Adapter<'media', MediaFacts, MediaLine<F>, F>;

/** The rhythm of a provider that states none. */
export const RHYTHM = { everyMs: 5_000, mostMs: 3_600_000 } as const;

/** The category under which an operation is found in the catalog. */
const CATEGORIES: Readonly<Record<MediaOperation, string>> = {
  image: 'image',
  edit: 'image',
  upscale: 'image',
  video: 'video',
  speech: 'voice',
  transcription: 'audio',
  music: 'music',
  avatar: 'avatar',
  slideshow: 'slideshow',
};

/** Declares a provider of media: an organization or the operator sets its key. */
export const media = <const F extends Fields>(spec: MediaSpec<F>): MediaAdapter => {
  const all = [...spec.models.map((model) => model.operations), spec.actions ?? {}, spec.anyModel?.operations ?? {}];
  const operations = MEDIA_OPERATIONS.filter((operation) => all.some((one) => one[operation]));
  const adapter: MediaAdapter<F> = {
    ...spec,
    errors: { 403: 'reauthorize', ...spec.errors },
    domain: 'media',
    capabilities: operations,
    facts: {
      kind: spec.hub ? 'hub' : spec.models.length === 0 ? 'action' : 'direct',
      mediaCategories: [...new Set(operations.map((operation) => CATEGORIES[operation]))],
      operations,
      models: spec.models.map(({ id }) => id),
    },
    setup: {
      fields: { ...spec.credentials, ...choiceFields(Object.keys(MEDIA_PURPOSES)), prices: pricesField },
      owners: ['instance', 'org'],
    },
  };
  return adapter as unknown as MediaAdapter; // the registry checks values against the fields
};
