import { sha256Hex } from '../../platform/kernel/index.ts';

/** Days in which somebody may decide. */
export const PENDING_DAYS = 30;
/** Days for which a proposal is shown after that. */
export const KEPT_DAYS = 60;
/** Pending proposals of one organization. */
export const MOST_PENDING = 500;
/** An acceptance is over after so long, however it ended: no request lasts longer. */
export const ACCEPTING_MINUTES = 15;

/** The id of post `n` of an accepted proposal: the same however often it is accepted, so that no post is made twice. */
export function postIdOf(proposalId: string, n: number): string {
  const digits = sha256Hex(`${proposalId} ${n}`);
  // version 8: an id of our own making (RFC 9562)
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-8${digits.slice(13, 16)}-a${digits.slice(17, 20)}-${digits.slice(20, 32)}`;
}

/** The ids of the first posts of the threads of a proposal, whose lengths these are. */
export function rootIdsOf(proposalId: string, lengths: readonly number[]): string[] {
  let n = 0;
  return lengths.map((length) => {
    const id = postIdOf(proposalId, n);
    n += length;
    return id;
  });
}

/** Composed posts of which each stands where the others name it. */
interface Linked {
  id: string;
  parentPostId?: string | null | undefined;
  rootPostId?: string | null | undefined;
}
/** Posts with the ids that an acceptance gives them. */
export function withProposalIds<P extends Linked>(proposalId: string, posts: readonly P[]): P[] {
  const ids = new Map(posts.map(({ id }, n) => [id, postIdOf(proposalId, n)]));
  const renamed = (id: string) => ids.get(id) ?? id;
  return posts.map((post) => ({
    ...post,
    id: renamed(post.id),
    ...(post.parentPostId && { parentPostId: renamed(post.parentPostId) }),
    ...(post.rootPostId && { rootPostId: renamed(post.rootPostId) }),
  }));
}
