import { postActor } from '../../actors/post/contract.ts';
import type { Context } from '../../src/context.ts';
import { AppError, parse, tenantKey } from '../../src/platform/kernel/index.ts';
import { EditBody, type PostAuthor, type PostRow } from '../../src/publishing/posts/index.ts';
import { canonical, type Contents } from '../../src/studio/collaboration/index.ts';
import type { RoomName } from './address.ts';

/** What a document stands for, as it is now. */
export interface Found {
  contents: Contents;
  /** Changes with every change of it. */
  version: string;
  isOpen: boolean;
}
/** A change that was judged and not made yet. */
export interface Prepared {
  /** What it holds when the change is made. */
  contents: Contents;
  commit(): Promise<void>;
}
/** What a document is made of and saved to. */
export interface Source {
  /** Undefined: it is gone. */
  read(): Promise<Found | undefined>;
  /**
   * Judges what a document says in the place of what it said when it was saved last.
   * @throws AppError for what cannot be saved
   */
  prepare(wanted: Contents, agreed: Contents, now: Found, by: PostAuthor | undefined): Promise<Prepared>;
}

type Needs = Pick<Context, 'posts' | 'actors'>;
export interface SourceKey {
  orgId: string;
  room: RoomName;
}

const contentsOf = ({ content, settings, media }: PostRow): Contents => ({ content, settings, media });
const differs = (a: unknown, b: unknown): boolean => canonical(a) !== canonical(b);

/** Bytes of what a document may save, as a body of the API may have. */
const MOST_BODY_BYTES = 2_000_000;

/** A post, or an item of a thread. */
export function postSource({ posts, actors }: Needs, orgId: string, postId: string): Source {
  const read = async (): Promise<Found | undefined> => {
    const [rows, [revision]] = await Promise.all([
      posts.getPost(orgId, postId).catch((error: unknown) => {
        if (error instanceof AppError && error.code === 'not_found') return [];
        throw error;
      }),
      posts.findRevisions([{ orgId, postId }]),
    ]);
    const row = rows.find(({ id }) => id === postId);
    return row && revision && { contents: contentsOf(row), version: String(row.version), isOpen: revision.isOpen };
  };
  return {
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
        commit: async () =>
          void (await actors(postActor, tenantKey(orgId, postId)).edit({ ...change, ...(by && { by }) })),
      };
    },
  };
}
