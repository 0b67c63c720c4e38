import { postActor } from '../../actors/post/contract.ts';
import type { Context } from '../../src/context.ts';
import { AppError, parse, tenantKey } from '../../src/platform/kernel/index.ts';
import { EditBody, type PostAuthor, type PostRow } from '../../src/publishing/posts/index.ts';
import { canonical, type Contents } from '../../src/studio/collaboration/index.ts';
import type { DocumentRoot } from '../../src/studio/collaboration/updates.ts';

/** Why what a document stands for may not be changed: it is out or on its way; no plan waits to be approved. */
export type ClosedBy = 'published' | 'not_awaiting_plan';

/** What a document stands for, as it is now. */
export interface Found {
  contents: Contents;
  /** Changes with every change of it. */
  version: string;
  /** Null: it may be changed. */
  closed: ClosedBy | null;
  /** The names of agents that have changed it since the version that was asked about. */
  agents?: readonly string[];
}
/** A change that was judged and not made yet. */
export interface Prepared {
  /** What it holds when the change is made. */
  contents: Contents;
  /** What `Found.version` is then, where that is known before. */
  version?: string;
  /** False: it was changed by somebody else since it was read, and stays as it is. */
  commit(): Promise<boolean>;
}
/** What a document is made of and saved to. */
export interface Source {
  /** What its document may hold. */
  readonly roots: readonly DocumentRoot[];
  /** Undefined: it is gone. `since`: the version that was read last. */
  read(since?: string): Promise<Found | undefined>;
  /**
   * Judges what a document says in the place of what it said when it was saved last.
   * @throws AppError for what cannot be saved
   */
  prepare(wanted: Contents, agreed: Contents, now: Found, by: PostAuthor | undefined): Promise<Prepared>;
}

type Needs = Pick<Context, 'posts' | 'actors'>;

const contentsOf = ({ content, settings, media }: PostRow): Contents => ({ content, settings, media });
const differs = (a: unknown, b: unknown): boolean => canonical(a) !== canonical(b);

/** The fields of a document that differ from what it said when it was saved last; null: it was deleted. */
export const changedFields = (wanted: Contents['settings'], agreed: Contents['settings']): Record<string, unknown> =>
  Object.fromEntries(
    [...new Set([...Object.keys(wanted), ...Object.keys(agreed)])]
      .filter((name) => differs(wanted[name], agreed[name]))
      .map((name) => [name, wanted[name] ?? null]),
  );

/** What is found; undefined where it is not there any more. */
export async function unlessGone<T>(found: Promise<T>): Promise<T | undefined> {
  return found.catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'not_found') return undefined;
    throw error;
  });
}

const OTHERS_WERE_FIRST = new Set<unknown>(['conflict', 'already_published', 'not_found']);

/** Makes a change of posts; false where somebody has changed, published or deleted one of them since. */
export async function unlessOthersWereFirst(work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (error instanceof AppError && OTHERS_WERE_FIRST.has(error.code)) return false;
    throw error;
  }
}

/** Bytes of what a document may save, as a body of the API may have. */
const MOST_BODY_BYTES = 2_000_000;

/** A post, or an item of a thread. */
export function postSource({ posts, actors }: Needs, orgId: string, postId: string): Source {
  const read = async (since?: string): Promise<Found | undefined> => {
    const [rows, [revision]] = await Promise.all([
      unlessGone(posts.getPost(orgId, postId)),
      posts.findRevisions([{ orgId, postId }]),
    ]);
    const row = rows?.find(({ id }) => id === postId);
    if (!row || !revision) return undefined;
    const version = String(row.version);
    const isChanged = since !== undefined && since !== version;
    return {
      contents: contentsOf(row),
      version,
      closed: revision.isOpen ? null : 'published',
      ...(isChanged && { agents: await posts.findAgents({ orgId, postId, since: Number(since) }) }),
    };
  };
  return {
    roots: ['content', 'settings', 'media'],
    read,
    async prepare(wanted, agreed, now, by) {
      const sent = {
        ...(wanted.content !== agreed.content && { content: wanted.content }),
        ...(differs(wanted.settings, agreed.settings) && { settings: wanted.settings }),
        ...(differs(wanted.media, agreed.media) && { image: wanted.media }),
      };
      if (Buffer.byteLength(JSON.stringify(sent)) > MOST_BODY_BYTES)
        throw new AppError('too_large', `The document holds more than ${MOST_BODY_BYTES} bytes: shorten it`);
      const data = parse(EditBody, sent);
      const version = Number(now.version);
      const change = await posts.prepareEdit(orgId, postId, data, { userId: by?.userId ?? '', merge: false, version });
      return {
        contents: {
          content: change.content ?? now.contents.content,
          settings: change.settings?.values ?? now.contents.settings,
          media: change.media ?? now.contents.media,
        },
        version: String(version + 1), // each edit counts one on, and this one is made of that version alone
        commit: () =>
          unlessOthersWereFirst(actors(postActor, tenantKey(orgId, postId)).edit({ ...change, ...(by && { by }) })),
      };
    },
  };
}
