import type { Media } from '../kit/declare/media.ts';
import type { Values } from '../kit/declare/fields.ts';
import type { Tokens } from '../kit/protocols/oauth.ts';
import type { Metric } from './_metrics.ts';
export type { Media, MediaKind } from '../kit/declare/media.ts';
export type { Metric } from './_metrics.ts';

// What goes to networks and comes back from them, without what an adapter declares (`_contract.ts`).

/**
 * A post to publish, with its media in order. `id` is ours and the same on every attempt. `text` is in the form that the
 * adapter asks for (`textForm`, `editor`), with its way of writing mentions; `plain` is the text without any markup.
 */
export interface Post {
  id: string;
  text: string;
  plain: string;
  media: readonly Media[];
  /** Files that settings name (`fileSettings`), by the setting. */
  files?: Readonly<Record<string, Media>>;
}
/** A published post or comment. `saved`: data that a reply to it needs (Bluesky: uri and cid). */
export interface Published {
  id: string;
  url: string;
  saved?: unknown;
}
/** A published post that a channel acts on: of that channel, or of another one. */
export interface ChannelPost extends Published {
  /** The account that published it (`Profile.id`). Default: that of the channel that acts. */
  account?: string;
}
/** The network has the post and works on it: it is asked by `poll` after so long, by the handle that was saved. */
export interface Processing {
  processingMs: number;
}
/**
 * The network has it, and shows it to nobody before a person has acted there, as `held` says. A person decides then; a
 * later attempt is handed what was saved.
 */
export interface Held {
  held: string;
}
/**
 * What became of a post that the network worked on. `rejected`: for good, with its words. `expired`: it dropped the
 * handle and published nothing, so the post begins anew.
 */
export type Polled = Published | Processing | { rejected: string; reason?: 'duplicate' } | { expired: true };
/** Whether the network is ready for the post; `againMs`: the next step can be made after so long. */
export type Prepared = 'ready' | { againMs: number };

/** As a network tells it: what may be absent may be null, too. */
export type AsTold<T> = { [K in keyof T]: object extends Pick<T, K> ? T[K] | null | undefined : T[K] };

/** The connected account. `id` is unique over all servers of a network: a channel is one account (S246). */
export interface Profile {
  id: string;
  name: string;
  handle: string;
  picture?: string;
  server?: string;
}

export interface Saving {
  /**
   * Data that an earlier attempt saved. `save` is durable when it ends, and must be called before the step that cannot
   * be undone.
   */
  saved: unknown;
  save: (handle: unknown) => Promise<void>;
}
/** What a step before publishing is handed. Items ahead of it in a thread may not be out yet. */
export interface Step extends Saving {
  /** It comes behind the first item of a thread. */
  isLater: boolean;
}
/** The saved data of an attempt, and its thread. */
export interface Handle extends Saving {
  /** The published items of the thread, when this is a reply: root first, parent last. */
  thread: readonly Published[];
}
/**
 * An attempt whose answer was lost: the data that it saved, its thread (as in `publish`), and the earliest time of its
 * request, with allowance for clock differences.
 */
export interface LookUp {
  since: Date;
  saved: unknown;
  thread: readonly Published[];
}

/** A comment to write below a published post; `parent`: the comment that it answers. */
export interface NewComment {
  post: Post;
  published: ChannelPost;
  parent?: { id: string; saved?: unknown } | undefined;
}
/**
 * A post of another channel of the network, to be repeated by this one. `id` is ours, the same on every attempt;
 * `fields`: what the fields of its plug say, which were held against their patterns when the plug was set.
 */
export interface Repost {
  id: string;
  published: ChannelPost;
  fields?: Readonly<Record<string, string>>;
}

/** A comment of anybody below a post. */
export interface CommentRead {
  id: string;
  text: string;
  author: { id: string; name: string; handle?: string | undefined; picture?: string | undefined };
  createdAt: Date;
  /** The comment that it answers; absent below the post itself. */
  parentId?: string | undefined;
  url?: string | undefined;
  likes?: number | undefined;
  hidden?: boolean | undefined;
  /** Data that an answer to it needs. */
  saved?: unknown;
}
export type CommentTold = AsTold<Omit<CommentRead, 'author'>> & { author: AsTold<CommentRead['author']> };
export interface CommentsTold {
  comments: readonly CommentTold[];
  next?: string | null | undefined;
}
export interface CommentPage {
  comments: readonly CommentRead[];
  /** Absent on the last page. */
  next?: string | undefined;
}

/** Counts as they are now; what the network does not tell is absent. */
export type Counts = Readonly<Partial<Record<Metric, number>>>;
/** Counts of a published post. A post that is gone has no entry in a list of them. */
export interface PostCounts {
  id: string;
  counts: Counts;
}
/**
 * A count of the channel by day, or its value now (one point with today's date). Dates are UTC, `2026-11-23`. Of a
 * metric whose kind is `flow`, a value now is a running total.
 */
export interface Series {
  metric: Metric;
  points: readonly { date: string; value: number }[];
}

/** Somebody who can be mentioned. */
export interface Mention {
  id: string;
  label: string;
  image?: string | undefined;
}
/** An account of anybody, as everybody may see it. */
export interface PublicProfile {
  id: string;
  name: string;
  picture?: string | undefined;
  counts: Counts;
}
/** A handle as the network writes it, with the typed fields that its server fills. */
export interface ReadHandle {
  handle: string;
  values: Values;
}
/** A page, location, blog or channel of the connected person, of which one becomes the channel. */
export interface Page {
  id: string;
  name: string;
  handle?: string | undefined;
  picture?: string | undefined;
}
/** What choosing a page leaves: tokens whose `values` name it. The account is read by `profile` then. */
export type Chosen = Tokens;
