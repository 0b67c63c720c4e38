import { bind } from '../../platform/kernel/index.ts';
import type { CommentsDeps } from './deps.ts';
import { changeComment, dropOldComments, listComments, queueSync } from './inbox.ts';
import { replyToComment } from './reply.ts';
import { sweepComments } from './sweep.ts';

export type Comments = ReturnType<typeof openComments>;

/** The room of what people say below posts: it is read from the networks, shown, answered and hidden. */
export const openComments = (deps: CommentsDeps) =>
  bind(deps, { changeComment, dropOldComments, listComments, queueSync, replyToComment, sweepComments });
