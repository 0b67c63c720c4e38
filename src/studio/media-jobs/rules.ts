import {
  type MediaAdapter,
  type MediaKind,
  type MediaOperation,
  type MediaRequest,
  RHYTHM,
  type SourceFile,
} from '../../providers/registry/index.ts';

export const JOB_STATES = ['queued', 'running', 'copying', 'done', 'failed', 'cancelled', 'unknown'] as const;
/**
 * `queued`: waits for its turn, or its submit is under way. `running`: the provider has it. `copying`: results are
 * taken into the library. `unknown`: the submit was not answered, so nobody knows whether it was billed.
 */
export type JobState = (typeof JOB_STATES)[number];

/** The request of a job as its row keeps it: of files of the library their ids. */
export type AskedJob = Pick<MediaRequest, AskedValue> & { sources: readonly string[] };
type AskedValue = 'prompt' | 'size' | 'ratio' | 'seconds' | 'count' | 'voice' | 'language' | 'options';

/** Operations whose result is a video, and those that make one of a video. */
const EXPORTS: ReadonlySet<MediaOperation> = new Set(['video', 'avatar']);
const CHANGES: ReadonlySet<MediaOperation> = new Set(['edit', 'upscale']);
/** Whether the result of a job is a video, which takes one of the video exports of the billing month (LM18). */
export const isVideoExport = (operation: MediaOperation, sources: readonly Pick<SourceFile, 'kind'>[]): boolean =>
  EXPORTS.has(operation) || (CHANGES.has(operation) && sources.some(({ kind }) => kind === 'video'));
/** Operations that are offered as ways to make a video. */
export const VIDEOS: readonly MediaOperation[] = ['video', 'avatar', 'slideshow'];

/** What the results of an operation can be by their content. */
export const KINDS_OF: Readonly<Record<MediaOperation, readonly MediaKind[]>> = {
  image: ['image'],
  edit: ['image', 'video'],
  upscale: ['image', 'video'],
  slideshow: ['image', 'video'],
  video: ['video'],
  avatar: ['video'],
  speech: ['audio'],
  music: ['audio', 'video'],
  transcription: ['document'],
};

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Between two polls, and after which a running operation is given up. */
export const rhythmOf = ({ rhythm = RHYTHM }: Pick<MediaAdapter, 'rhythm'>) => rhythm;

/** A job that does not get its turn in this time has failed. */
export const LONGEST_QUEUE_MS = 24 * HOUR;

/** Polls come on the provider's rhythm, up to four times as rare in the end. */
export function pollInMs(everyMs: number, polls: number, askedMs = 0): number {
  return Math.round(Math.max(everyMs * Math.min(4, 1.1 ** polls), askedMs));
}

/** The wait after a failure that may pass: 5 s, doubled up to a minute; longer where the provider says so. */
export const pauseInMs = (failures: number, askedMs = 0): number =>
  Math.max(Math.min(5 * SECOND * 2 ** failures, MINUTE), askedMs);

/** Submits of one job to one provider, where a failure surely left nothing behind. */
export const MOST_SUBMITS = 3;
/** Submits that broke before they left, in a way that nobody foresaw: about seven minutes. */
export const MOST_BREAKS = 10;
/** So long a database can be away, and what a provider has answered, which is billed, is still written down. */
export const LONGEST_AWAY_MS = 10 * 60_000;
/** Failed copies of one result; addresses of results are good for ten minutes at least. */
export const MOST_COPIES = 5;
/** A submit without an answer is looked up so often: a provider may list an operation late. */
export const MOST_LOOK_UPS = 4;
/** How often the provider is told to stop. */
export const MOST_CANCELS = 3;
/** It is told again after so long at the latest: what has ended cannot be stopped. */
export const MOST_WAIT_TO_STOP_MS = 5 * MINUTE;
/** Waits between look-ups. */
export const lookUpInMs = (lookUps: number): number => [10 * SECOND, MINUTE, 5 * MINUTE][lookUps] ?? 5 * MINUTE;

/** What nobody settles by hand is settled by its estimate. */
export const UNKNOWN_DAYS = 7;

/** The reservation of a job is kept so long: longer than it can wait, last and be unknown. */
export const RESERVED_MS = LONGEST_QUEUE_MS + (UNKNOWN_DAYS + 2) * 24 * HOUR;

/** Jobs of one organization that are at one provider at most: more wait for their turn. */
export const MOST_OF_ONE = 8;
/** Jobs that wait, of one organization; more are refused. */
export const MOST_QUEUED = 200;

const NAMES: Readonly<Record<MediaOperation, string>> = {
  image: 'Picture',
  edit: 'Edited picture',
  video: 'Video',
  speech: 'Voice over',
  transcription: 'Captions',
  music: 'Music',
  avatar: 'Avatar video',
  upscale: 'Upscaled file',
  slideshow: 'Slideshow',
};
/** The name of a result in the library: what was asked for, in short. */
export const resultNameOf = (operation: MediaOperation, prompt: string | undefined): string =>
  prompt === undefined
    ? NAMES[operation]
    : prompt
        .slice(0, 80)
        .replace(/[\ud800-\udbff]$/, '')
        .trim();
