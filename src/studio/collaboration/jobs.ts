import type { Contents } from './contents.ts';
import { type Merged, mergeIntoDocument, type ReadDocument, readDocument, sowDocument } from './document.ts';

/** Work on whole documents, done beside the process that serves them. */
export interface Jobs {
  sow: { given: { contents: Contents }; done: Uint8Array };
  read: { given: { state: Uint8Array; withDeleted?: boolean }; done: ReadDocument };
  merge: { given: { state: Uint8Array; base: Contents | undefined; theirs: Contents }; done: Merged };
}
export type JobKind = keyof Jobs;

const DO: { [K in JobKind]: (given: Jobs[K]['given']) => Jobs[K]['done'] } = {
  sow: ({ contents }) => sowDocument(contents),
  read: ({ state, withDeleted }) => readDocument(state, { withDeleted }),
  merge: ({ state, base, theirs }) => mergeIntoDocument(state, base, theirs),
};

export const doJob = <K extends JobKind>(kind: K, given: Jobs[K]['given']): Jobs[K]['done'] => DO[kind](given);
