import { outsideLine, outsideText } from '../../platform/content/index.ts';
import type { CommentRead, SocialAdapter } from '../../providers/registry/index.ts';

/** So many new comments of a channel in one sweep are told one by one; more of them as a number. */
export const MOST_SINGLE = 10;

const MOST_TEXT = 10_000;
const MOST_NAME = 200;
const MOST_ID = 500;
const MOST_ADDRESS = 2_048;
const MOST_SAVED = 10_000;

/** A comment as it is kept. */
export interface KeptComment {
  externalId: string;
  parentExternalId: string | null;
  content: string;
  authorId: string;
  authorName: string;
  authorPicture: string | null;
  isOwn: boolean;
  /** Null: the network does not say. */
  hidden: boolean | null;
  saved: string | null;
  createdAt: Date;
}

/** The account of a channel. */
interface OwnAccount {
  internalId: string;
  handle: string;
}

/** What is kept of a comment; undefined where it cannot be told from others, or has no date. */
export function keptComment(read: CommentRead, account: OwnAccount): KeptComment | undefined {
  const { id, text, author, createdAt, parentId, hidden, saved } = read;
  if (!isName(id) || Number.isNaN(createdAt.getTime())) return undefined;
  const kept = JSON.stringify(saved ?? null);
  return {
    externalId: id,
    parentExternalId: parentId !== undefined && isName(parentId) ? parentId : null,
    content: outsideText(text, MOST_TEXT),
    authorId: outsideText(author.id, MOST_ID),
    authorName: outsideLine(author.name || author.handle || '', MOST_NAME),
    authorPicture: pictureOf(author.picture),
    isOwn: isOwn(author, account),
    hidden: hidden ?? null,
    saved: kept === 'null' || kept.length > MOST_SAVED || NOT_STORED.test(kept) ? null : kept,
    createdAt,
  };
}

/** An id or a place that a table can hold. */
export const isName = (text: string, most = MOST_ID): boolean =>
  text !== '' && text.length <= most && !text.includes('\0') && text.isWellFormed();

/** Escapes of JSON that no table can hold. */
const NOT_STORED = /\\u(?:0000|d[89a-f])/i;

/** Networks know an account here by the id of its profile, by the part before its server, or by its handle. */
function isOwn({ id, handle = '' }: CommentRead['author'], { internalId, handle: own }: OwnAccount): boolean {
  if (id !== '' && (internalId === id || internalId.startsWith(`${id}@`))) return true;
  return nameOf(handle) !== '' && nameOf(handle) === nameOf(own);
}
const nameOf = (handle: string): string => handle.replace(/^@/, '').toLowerCase();

function pictureOf(address: string | undefined): string | null {
  if (address === undefined || address.length > MOST_ADDRESS) return null;
  const url = URL.parse(address);
  return url && /^https?:$/.test(url.protocol) ? url.href : null;
}

/** Comments of a network are read at all, and whether a channel has to ask for it (`scarce`). */
export function readingOf({ comments, commentReads }: SocialAdapter): 'free' | 'scarce' | 'none' {
  if (!comments) return 'none';
  return commentReads?.scarce ? 'scarce' : 'free';
}

/** Whether comments of a channel are read: unless it says no, or where that costs, if it says yes. */
export const isRead = (adapter: SocialAdapter, { syncComments }: Readonly<Record<string, unknown>>): boolean =>
  ({ free: syncComments !== false, scarce: syncComments === true, none: false })[readingOf(adapter)];
