import { z } from 'zod';
import type { Sql } from '../src/platform/db/index.ts';
import { newId } from '../src/platform/kernel/index.ts';
import { countBelow, isOnNetwork, listBelow, note, type Said } from './store.ts';

// What stands below a post of the network, by whatever account: comments, reposts and likes.

const STEPS = { comments: 'comment', reposts: 'repost', likes: 'like' } as const;
/** The part of an address that names what is made. */
export type Below = keyof typeof STEPS;

export const Comment = z.object({ text: z.string().min(1).max(10_000) });
export const Hidden = z.object({ hidden: z.boolean() });

/**
 * Notes a comment, a repost or a like of an account; undefined: there is no such post. The same key makes nothing
 * twice.
 */
export async function placeBelow(
  sql: Sql,
  {
    account,
    below,
    postId,
    text,
    key,
  }: { account: string; below: Below; postId: string; text: string; key: string | null },
): Promise<{ id: string; repeated: boolean } | undefined> {
  if (!(await isOnNetwork(sql, postId))) return undefined;
  const noted = await note(sql, {
    account,
    postId: newId(),
    step: STEPS[below],
    text,
    media: [],
    replyTo: postId,
    idempotencyKey: key,
    accepted: true,
    answered: 'ok',
  });
  return { id: noted.postId, repeated: noted.repeated };
}

/** A page is small, so that pages are met in tests. */
const PAGE = 20;
/** A page of the comments below a post; `next` names the one behind it. Undefined: there is no such post. */
export async function commentsOf(
  sql: Sql,
  postId: string,
  after: string,
): Promise<{ items: readonly Said[]; next: string | undefined } | undefined> {
  if (!(await isOnNetwork(sql, postId))) return undefined;
  const rows = await listBelow(sql, postId, { after: /^\d{1,18}$/.test(after) ? after : '0', limit: PAGE + 1 });
  return { items: rows.slice(0, PAGE), next: rows.length > PAGE ? rows[PAGE - 1]!.seq : undefined };
}

/** Hides a comment, or shows it again. False: there is no such comment. */
export async function hideComment(sql: Sql, account: string, postId: string, hidden: boolean): Promise<boolean> {
  if (!(await isOnNetwork(sql, postId))) return false;
  await note(sql, {
    account,
    postId,
    step: hidden ? 'hide' : 'show',
    text: '',
    media: [],
    replyTo: null,
    idempotencyKey: null,
    accepted: true,
    answered: 'ok',
  });
  return true;
}

const MOST = 100;
/** The counts of posts that are there, by their ids with commas between them. */
export const countsOf = (sql: Sql, ids: string) => countBelow(sql, ids.split(',').slice(0, MOST));
