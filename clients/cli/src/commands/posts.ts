import type { Command } from 'commander';
import type { Session } from '../session.ts';
import { addCancel } from './posts-cancel.ts';
import { addCreate } from './posts-create.ts';
import { addDelete } from './posts-delete.ts';
import { addEdit } from './posts-edit.ts';
import { addExplain } from './posts-explain.ts';
import { addGet } from './posts-get.ts';
import { addList } from './posts-list.ts';
import { addMove } from './posts-move.ts';
import { addRetry } from './posts-retry.ts';
import { addTimeline } from './posts-timeline.ts';
import { addWait } from './posts-wait.ts';

export function addPosts(program: Command, session: Session): void {
  const posts = program.command('posts').description('Create posts, and see what becomes of them.');
  for (const add of [
    addCreate,
    addList,
    addGet,
    addEdit,
    addMove,
    addCancel,
    addDelete,
    addRetry,
    addTimeline,
    addWait,
    addExplain,
  ])
    add(posts, session);
}
