import { type Command, createArgument } from 'commander';
import { dateOf } from '../input.ts';
import type { Session } from '../session.ts';
import { wholePost } from './columns.ts';

export function addMove(posts: Command, session: Session): void {
  posts
    .command('move')
    .description('Give a post another date.')
    .argument('<post>', 'id of the post')
    .addArgument(createArgument('<date>', 'when it goes out').argParser(dateOf))
    .action(async (id: string, publishDate: string) => {
      session.output.one(await (await session.client()).editPost(id, { publishDate }), wholePost);
    });
}
