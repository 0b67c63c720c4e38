import type { Fragment, Sql } from '../../platform/db/index.ts';
import type { AppError } from '../../platform/kernel/index.ts';
import type { Events } from '../../platform/telemetry/index.ts';
import type { FileFacts, Limits, Media } from '../../providers/registry/index.ts';
import type { PostMedia } from './row.ts';

// What publishing needs of its neighbours, but for `channels-port.ts`. `openPosts` is handed these; `src/context.ts` binds them.

/** A field of a body that names files: a list of them, or one alone (`isOne`), whose own field it is. */
export interface FilesField {
  at: string;
  items: readonly PostMedia[];
  isOne?: boolean | undefined;
}

export interface MediaPort {
  /** What the addresses of files of this service begin with. */
  readonly ownAddresses: readonly string[];
  /**
   * The pictures and videos of a post, for an adapter, until `attempt.signal` says that its attempt is over. A
   * `ProviderError` says whether trying again can help.
   */
  load(
    orgId: string,
    items: readonly PostMedia[],
    attempt: { signal: AbortSignal; limits: Limits },
  ): Promise<readonly Media[]>;
  /** A post has settled: what was fetched for it is no longer needed. */
  settled(orgId: string, items: readonly PostMedia[]): Promise<void>;
  /** Judges addresses before they are stored: 400 naming the field. */
  judge(orgId: string, fields: readonly FilesField[]): Promise<void>;
  /** The same of many bodies in one statement: what is known of each file, what `judge` throws of it, and its address. */
  judgeFiles(
    orgId: string,
    fields: readonly FilesField[],
  ): Promise<{ facts: FileFacts | undefined; fault: AppError | undefined; path: string }[][]>;
  /** What is known of the files of posts; undefined for one that lies outside, null for one that cannot be published. */
  facts(orgId: string, posts: readonly (readonly PostMedia[])[]): Promise<(FileFacts | undefined | null)[][]>;
}

/** A link of a text, and what goes out in its place; null: it goes out as it is. */
export interface Link {
  url: string;
  short: string | null;
}

/** Links of posts: noted with the post, decided before it goes out. */
export interface LinksPort {
  /** Notes the links of new posts and of their first comments, in the transaction that stores them. */
  plan(transaction: Sql, items: readonly { orgId: string; postId: string; content: string }[]): Promise<void>;
  /** Whether links of this thread are to be shortened. */
  isAsked(transaction: Sql, orgId: string, postId: string): Promise<boolean>;
  /** Notes the links of a thread as it is after an edit, or forgets them. Decided ones stay. */
  replan(transaction: Sql, orgId: string, postId: string, wanted: boolean): Promise<void>;
  /** Decides every link of an item that goes out now; from then on the answer is the same. */
  decide(orgId: string, postId: string): Promise<readonly Link[]>;
  /** A plain text with short links in the place of the long ones. */
  apply(text: string, links: readonly Link[]): string;
}

/** Ids that people name of posts on a network. */
export interface ReleaseIdsPort {
  /** 400 for one that no post of this account can have. A network that is not registered takes every plain id. */
  check(of: { providerId: string; providerVersion: string; account: string }, releaseId: string): void;
}

/** An attempt to tell a webhook of a post; `status` 0: it did not answer. */
export interface ToldWebhook {
  at: Date;
  event: string;
  attempt: number;
  status: number;
}
export interface DeliveriesPort {
  /** The latest attempts to tell webhooks of a post, oldest first. */
  attemptsOfPost(orgId: string, postId: string): Promise<readonly ToldWebhook[]>;
}

export interface ProfilesPort {
  /** The profile of a user, with the zone that their clocks are in. */
  profile(userId: string): Promise<{ timezone: string }>;
}

/**
 * What follows a publication, as parts of the statements that publish: no statement more for a post, whether something
 * follows it or not.
 */
export interface FollowUpsPort {
  /**
   * The CTE `follow_ups (post_id)` with the posts that something follows now; `settled` has the rows of `posts` that the
   * statement publishes or gives up (id, org_id, channel_id, root_post_id, state, seq, settings), the settings of first
   * items at least.
   */
  plan(sql: Sql, settled: Fragment): Fragment;
  /**
   * What waits for the end of a thread has its time if the thread has ended, as later items are deleted: behind the
   * statement that deletes them, which has seen nothing of items that were settled while it waited for the channel.
   * Answers whether something follows the post now.
   */
  shorten(sql: Sql, root: { orgId: string; postId: string }): Promise<boolean>;
}

/** A channel's next due time. */
export interface DueChange {
  orgId: string;
  channelId: string;
  dueAt: Date;
}

/** Moves the reminder `due` of channels. Bound to the engine. */
export interface ReminderMoves {
  /** Within the caller's transaction, once in it; the answer is called after the commit, and never rejects. */
  within(transaction: Sql, reminders: readonly DueChange[]): Promise<() => void>;
  /**
   * The same as a part of a statement that is a commit of its own: CTEs, each with a comma before it, for what
   * `from (org_id, channel_id, due_at)` lists, under a new uuid. `moved` is called after the commit, and never rejects.
   */
  inStatement(sql: Sql, from: Fragment, version: Fragment): Fragment;
  moved(reminders: readonly DueChange[], version: string): void;
}

/** The part of the business events that happens here. */
export type PostEvents = Pick<Events, 'postsCreated' | 'publishCalled' | 'attemptSettled'>;

/** Milliseconds since the last heartbeat of this host was sent that reached the database. */
export interface Heartbeat {
  heartbeatAgeMs(): number;
  /**
   * Since when heartbeats have followed each other without a gap in which another host may have taken over, by the
   * monotonic clock.
   */
  steadySince(): number;
}
