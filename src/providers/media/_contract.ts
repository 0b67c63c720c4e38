import type { Adapter, Manifest } from '../kit/declare/adapter.ts';
import { choiceFields, pricesField } from '../kit/declare/choices.ts';
import type { Fields } from '../kit/declare/fields.ts';
import type { Line } from '../kit/declare/line.ts';
import { MEDIA_OPERATIONS, MEDIA_PURPOSES, type MediaCalls, type MediaOperation, type SourceFile } from './_calls.ts';

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
  /** Whether it takes a language (BCP 47), or the codes of those that it takes. */
  languages?: true | readonly string[];
  /** What counts, and costs, as a character of the text: a Han character as two, or each byte of UTF-8. */
  counted?: 'han twice' | 'bytes';
  /**
   * Kinds of files of the library that it starts from, with how many. `fetched`: the provider fetches them itself, from
   * `SourceFile.publicUrl`.
   */
  sources?: { kinds: readonly SourceFile['kind'][]; min: number; max: number; fetched?: true };
  /**
   * The longest sound that it takes, in seconds, where its result lasts as long: bounds the price of one whose length
   * nobody knows.
   */
  sourceSeconds?: number;
  /** The price counts the seconds of the video that it starts from, whatever part of it is made anew. */
  paidBySource?: true;
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

type Files = (min: number, max: number, ...kinds: SourceFile['kind'][]) => NonNullable<Takes['sources']>;
/** Declares files that are sent to the provider. */
export const sentFiles: Files = (min, max, ...kinds) => ({ kinds, min, max });
/** Declares files that the provider fetches itself. */
export const fetchedFiles: Files = (min, max, ...kinds) => ({ kinds, min, max, fetched: true });

/** What a transcription starts from. */
export const ONE_SOUND: Takes = { prompt: 'none', languages: true, sources: sentFiles(1, 1, 'audio', 'video') };

/** Declares models that take the same. */
export const alike = (
  operations: MediaModel['operations'],
  ...ids: string[]
): Record<string, MediaModel['operations']> => Object.fromEntries(ids.map((id) => [id, operations]));

export type MediaLine<F extends Fields = Fields> = Line<'http' | 'large' | 'stream', F>;
export interface MediaFacts {
  /** `action`: selectable without a model. `hub`: models of others. `direct`: its own. */
  kind: 'direct' | 'hub' | 'action';
  mediaCategories: readonly string[];
  operations: readonly MediaOperation[];
  models: readonly string[];
}

export interface MediaSpec<F extends Fields> extends Manifest<F> {
  /** What the known models take, by id, the default one of each operation first. Default: none. */
  models?: Readonly<Record<string, MediaModel['operations']>>;
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
export type MediaAdapter<F extends Fields = Fields> = Omit<MediaSpec<F>, 'models'> &
  Adapter<'media', MediaFacts, MediaLine<F>, F> & { models: readonly MediaModel[] };

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
  const models = Object.entries(spec.models ?? {}).map(([id, operations]) => ({ id, operations }));
  const all = [...models.map((model) => model.operations), spec.actions ?? {}, spec.anyModel?.operations ?? {}];
  const operations = MEDIA_OPERATIONS.filter((operation) => all.some((one) => one[operation]));
  const adapter: MediaAdapter<F> = {
    ...spec,
    models,
    errors: { 403: 'reauthorize', ...spec.errors },
    domain: 'media',
    capabilities: operations,
    facts: {
      kind: spec.hub ? 'hub' : models.length === 0 ? 'action' : 'direct',
      mediaCategories: [...new Set(operations.map((operation) => CATEGORIES[operation]))],
      operations,
      models: models.map(({ id }) => id),
    },
    setup: {
      fields: { ...spec.credentials, ...choiceFields(Object.keys(MEDIA_PURPOSES)), prices: pricesField },
      owners: ['instance', 'org'],
    },
  };
  return adapter as unknown as MediaAdapter; // the registry checks values against the fields
};
