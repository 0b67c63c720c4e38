import type { PostAuthor } from '../../publishing/posts/index.ts';

/** Who has typed something that is not saved; `unknown`: it came from a release that does not say who. */
export type Typist = PostAuthor | 'unknown';

/** A program that took part: by a key, by the token of an app, or as an agent whose edit came from elsewhere. */
export interface Program {
  kind: 'api-key' | 'oauth' | 'agent';
  /** Of the key, or of the approval of the app; an agent is known by its name alone. */
  id: string | null;
  name: string;
}

/**
 * In whose name the texts of several are saved: somebody's who may not schedule unasked where there is one, and nobody's
 * where one is unknown, so that neither goes out without approval. Undefined: nobody has typed.
 */
export function whoCounts(typists: readonly Typist[]): Typist | undefined {
  const needsApproval = typists.find((one) => one !== 'unknown' && !one.schedulesFreely);
  return needsApproval ?? (typists.includes('unknown') ? 'unknown' : typists.at(-1));
}
