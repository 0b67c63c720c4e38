import type { Command } from 'commander';
import type { Session } from '../session.ts';
import { wholePost } from './columns.ts';

export function addGet(posts: Command, session: Session): void {
  posts
    .command('get')
    .description('Show a post with its thread.')
    .argument('<post>', 'id of the post')
    .action(async (id: string) => {
      session.output.one(await (await session.client()).getPost(id), wholePost);
    });
}
