import type { TextUnit } from '../kit/protocols/counted-text.ts';
import type { MediaKind } from './_values.ts';

// What a network takes, and how often.

/** `html` has the tags `b i u a` and line breaks; `mrkdwn` is Slack's. */
export type TextForm = 'plain' | 'markdown' | 'html' | 'mrkdwn';

/** How an item of a thread after the first goes out, or that posts have one item. */
export type Threads = 'reply' | 'comment' | 'message' | 'none';

/** So many posts in so long a time, of one account or of all accounts of the app together. */
export interface Pace {
  per: 'account' | 'app';
  posts: number;
  ms: number;
  /**
   * What counts, where the network counts apart: first items and reposts, or what stands below or behind them
   * (comments, replies and later items of threads). Default: all that a channel makes.
   */
  of?: 'posts' | 'comments';
}

/** What a network takes in one post, or in one item of a thread. */
export interface Limits {
  /** Greatest length, counted in `unit`. */
  text: number;
  unit: TextUnit;
  /** Least length of a text that is not empty, in `unit`. */
  textLeast?: number;
  /** Greatest length beside files, where it is less: a caption of Telegram. */
  textWithFiles?: number;
  /** A second limit, in UTF-8 bytes. */
  textBytes?: number;
  /** Number of characters that every link counts as. */
  linkLength?: number;
  /** Of a mention `@name@host` only `@name` counts. */
  shortMentions?: true;
  /** Number of files of all kinds. */
  media: number;
  needsMedia?: boolean;
  /** Content types; `image/*` is every picture. */
  mediaTypes: readonly string[];
  /** Files of different kinds do not go together; the kinds that are named count as one. */
  oneKind?: true | readonly MediaKind[];
  image?: FileLimits;
  video?: FileLimits;
  /** Default: as videos. */
  audio?: FileLimits;
  /** PDF files. */
  document?: FileLimits;
  /** GIF files, where they are sent as they are. Default: as pictures. */
  animated?: FileLimits;
  /** The network fetches such files by itself: a post with one that has no `publicUrl` is refused. */
  fetches?: readonly MediaKind[];
  /** Greatest number of links, hashtags and mentions in the text. */
  links?: number;
  hashtags?: number;
  mentions?: number;
  /** A post has one item, and no thread. */
  single?: true;
  /** Settings whose text counts with that of the post, such as a content warning. */
  countedSettings?: readonly string[];
  /** Settings without an effect, which are refused; `unlessVideo`: but for a post of one video. */
  idleSettings?: { names: readonly string[]; unlessVideo?: true };
  /** What differs by the value of a setting, such as a story by `post_type`; with dots it is inside of others. */
  byType?: { setting: string; limits: Readonly<Record<string, Partial<Omit<Limits, 'byType'>>>> };
}
/** Limits of one kind of file: least and greatest, where there are two. */
export interface FileLimits {
  /** Number in a post. */
  count?: number;
  /** Number of other files in a post with one of these. */
  beside?: number;
  /** Greatest size. Pictures are scaled to it. */
  bytes?: number;
  /** Of the shorter and of the longer side, in pixels. */
  side?: readonly [number, number];
  /** Width by height. */
  ratio?: readonly [number, number];
  seconds?: readonly [number, number];
  /** Each has a picture that was chosen for it. */
  thumbnail?: true;
}
/** The form of the ids of posts and of items that are comments, for one that a person names. */
export interface ReleaseIds {
  /** The whole id, read in linear time. What its group `account` matches is the connected account. */
  form: RegExp;
  /** The form in words, which go on after "must be". */
  words: string;
}
export const PLAIN_ID: ReleaseIds = {
  form: /^[\w:@~+=-][\w:@~+=.-]*(?:\/[\w:@~+=-][\w:@~+=.-]*)*$/,
  words: 'the id that the network has for the post, not its address',
};
export const NUMBER_ID: ReleaseIds = { form: /^\d{1,20}$/, words: 'the number that the network has for the post' };
/** Values of settings of a post, by name; with dots a setting is inside of others. */
export type SettingValues = Readonly<Record<string, string>>;
/** Of comments that hold text alone. */
export const WITHOUT_FILES = { media: 0, mediaTypes: [] } as const satisfies Partial<Limits>;
