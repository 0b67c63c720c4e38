import type { Fragment, Sql } from '../../platform/db/index.ts';

// The predicates of a post's life, each once; `alias` is the row of `posts`. Partial indexes stand on the same words:
// `posts.indexes.test.ts` compares them.

type Predicate = (sql: Sql, alias?: string) => Fragment;

/** A request may be under way: nobody else may change the post. */
export const inFlight: Predicate = (sql, alias = 'p') =>
  sql`(${sql(alias)}.state = 'QUEUE' and ${sql(alias)}.detail in ('publishing', 'processing', 'unconfirmed'))`;

/** An attempt has claimed it, and has not reported yet. */
export const publishing: Predicate = (sql, alias = 'p') =>
  sql`(${sql(alias)}.state = 'QUEUE' and ${sql(alias)}.detail = 'publishing')`;

/** The network is asked for its outcome: after a lost answer, or while it processes the post. */
export const unsettled: Predicate = (sql, alias = 'p') =>
  sql`(${sql(alias)}.state = 'QUEUE' and ${outcomeUnknown(sql, alias)})`;

/**
 * Its release is not known, though it may be on the network: an attempt that is looked up, or one that was given up so.
 */
export const outcomeUnknown: Predicate = (sql, alias = 'p') =>
  sql`(${sql(alias)}.detail in ('unconfirmed', 'processing'))`;

/** The answer of its attempt was lost, and the network is asked for it. */
export const unconfirmed: Predicate = (sql, alias = 'p') =>
  sql`(${sql(alias)}.state = 'QUEUE' and ${sql(alias)}.detail = 'unconfirmed')`;

/**
 * The same, and its network, which would know a second request for it, does not show it: it is sent again, though the
 * first request may still arrive there. Its next attempt was planned after it was claimed.
 */
export const toResend: Predicate = (sql, alias = 'p') =>
  sql`(${unconfirmed(sql, alias)} and ${sql(alias)}.due_at > ${sql(alias)}.claimed_at)`;

/** It was given up without a known outcome: a person decides. */
export const undecided: Predicate = (sql, alias = 'p') =>
  sql`(${sql(alias)}.state = 'ERROR' and ${sql(alias)}.detail is not distinct from 'unconfirmed')`;

/** It may be claimed when it is due; an item of a thread has no due time before the item ahead of it is out. */
export const ready: Predicate = (sql, alias = 'p') =>
  sql`(${sql(alias)}.state = 'QUEUE' and ${sql(alias)}.detail in ('scheduled', 'retrying'))`;

/** It waits for its due time. */
export const waiting: Predicate = (sql, alias = 'p') =>
  sql`(${ready(sql, alias)} and ${sql(alias)}.due_at is not null and ${sql(alias)}.deleted_at is null)`;

/** It has pictures or videos, or a setting with an address, which may be that of a file. */
const mayHaveFiles: Predicate = (sql, alias = 'p') => sql`(${sql(alias)}.media <> '[]'
      or ${sql(alias)}.settings @? '$.* ? (@ starts with "http" || @.path starts with "http")')`;

/** The network may prepare it ahead of its publish date: a first item that may have files. */
export const preparable: Predicate = (sql, alias = 'p') =>
  sql`(${waiting(sql, alias)} and ${sql(alias)}.root_post_id is null and ${mayHaveFiles(sql, alias)})`;

/** The same of an item behind a root. */
export const preparableBehind: Predicate = (sql, alias = 'p') =>
  sql`
    (${ready(sql, alias)}
      and ${sql(alias)}.deleted_at is null
      and ${sql(alias)}.root_post_id is not null
      and ${mayHaveFiles(sql, alias)})`;

/** It is out: the first item of its thread, and nobody has deleted it here. */
export const published: Predicate = (sql, alias = 'p') =>
  sql`(${sql(alias)}.state = 'PUBLISHED' and ${sql(alias)}.root_post_id is null and ${sql(alias)}.deleted_at is null)`;
/** It is held until a person approves it. */
export const awaitsApproval: Predicate = (sql, alias = 'p') =>
  sql`(${sql(alias)}.state = 'DRAFT' and ${sql(alias)}.detail is not distinct from 'awaiting_approval')`;

/** It waits for its channel, or for the organization. */
export const paused: Predicate = (sql, alias = 'p') =>
  sql`(${sql(alias)}.state = 'QUEUE' and ${sql(alias)}.detail = 'paused' and ${sql(alias)}.deleted_at is null)`;

/** It waits for room in the plan, which does not count it yet: an occurrence that was made when the plan was full. */
export const overLimit: Predicate = (sql, alias = 'p') =>
  sql`
    (${lacksRoom(sql, alias)}
      and ${sql(alias)}.deleted_at is null)`;

/** The same, also of one that was deleted, and may come back with its channel. */
export const lacksRoom: Predicate = (sql, alias = 'p') =>
  sql`
    (${sql(alias)}.state = 'QUEUE'
      and ${sql(alias)}.detail = 'paused'
      and ${sql(alias)}.error_kind is not distinct from 'billing_required')`;

/** It was given up while it waited for room in the plan, which has never counted it. */
export const neverCounted: Predicate = (sql, alias = 'p') =>
  sql`
    (${sql(alias)}.state = 'ERROR'
      and ${sql(alias)}.detail is not distinct from 'missed'
      and ${sql(alias)}.error_kind is not distinct from 'billing_required')`;

/** Its series goes on from it. */
export const recurs: Predicate = (sql, alias = 'p') =>
  sql`
    (${sql(alias)}.recurrence is not null
      and ${sql(alias)}.repeated_at is null
      and ${sql(alias)}.root_post_id is null)`;

/** The one of its series that waits, and stands for the dates to come. */
export const waitsInSeries: Predicate = (sql, alias = 'p') =>
  sql`
    (${recurs(sql, alias)}
      and ${sql(alias)}.deleted_at is null
      and ${sql(alias)}.state in ('QUEUE', 'DRAFT'))`;

/** It waits no longer, and its series has no successor yet. A post that was deleted while it waited has none. */
export const toRepeat: Predicate = (sql, alias = 'p') =>
  sql`(${recurs(sql, alias)} and ${sql(alias)}.state in ('PUBLISHED', 'ERROR'))`;

/** It is to be published, and no request has left. */
export const queued: Predicate = (sql, alias = 'p') =>
  sql`(${sql(alias)}.state = 'QUEUE' and ${sql(alias)}.detail in ('paused', 'scheduled', 'retrying'))`;

/** It waits for the item ahead of it in its thread. */
export const behindAnother: Predicate = (sql, alias = 'p') =>
  sql`
    (${sql(alias)}.state = 'QUEUE'
      and ${sql(alias)}.detail in ('scheduled', 'paused')
      and ${sql(alias)}.due_at is null
      and ${sql(alias)}.deleted_at is null)`;

/** What a brake can name a post by, beside its organization and its channel: its group, and its tags (campaigns). */
export interface Labels {
  group: Fragment;
  tags: Fragment;
}
/** The labels of the row `alias` of `posts`. */
export const labelsOf = (sql: Sql, alias = 'p'): Labels => ({
  group: sql`${sql(alias)}.group_id`,
  tags: sql`${sql(alias)}.tag_ids`,
});

/**
 * A brake stands on the posts with these labels in the row `c` of their channel, and on what follows their publication
 * (S123). Whoever has locked that row sees it as it is.
 */
export const braked = (sql: Sql, { group, tags }: Labels): Fragment =>
  sql`(c.brakes <> '{}' and c.brakes && (array['org', 'channel', 'campaign:' || ${group}] || ${tags}::text[]))`;

/** The marks of a channel that hold a post with these labels, as `braked` has them. */
export const marksOf = (group: string, tags: readonly string[]): string[] => [
  'org',
  'channel',
  `campaign:${group}`,
  ...tags,
];

/** An operator has disabled the organization of the channel `c` (S211). */
export const orgIsDisabled = (sql: Sql): Fragment =>
  sql`exists (select from organizations o where o.id = c.org_id and o.disabled_at is not null)`;

/** The detail of a post with these labels that enters the queue of the channel `c`; `on_brake` follows `braked`. */
export const queuedDetail = (sql: Sql, labels: Labels): Fragment =>
  sql`case when c.disabled or c.refresh_needed or ${braked(sql, labels)} then 'paused' else 'scheduled' end`;

/** The due time of an item of a thread, from the moment in which the item ahead of it is out. */
export const dueAfterParent = (sql: Sql): Fragment =>
  sql`greatest(now() + p.delay_minutes * interval '1 minute', p.publish_date)`;
