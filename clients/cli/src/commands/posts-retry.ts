import type { Command } from 'commander';
import { dataOf } from '../../../typescript/src/index.ts';
import type { Session } from '../session.ts';
import { wholePost } from './columns.ts';

export function addRetry(posts: Command, session: Session): void {
  posts
    .command('retry')
    .description('Publish a post that failed again.')
    .argument('<post>', 'id of the post')
    .option('--confirm', 'you looked, and an unconfirmed post is not at the network')
    .action(async (id: string, { confirm }: { confirm?: boolean }) => {
      const { api } = await session.client();
      const body = confirm ? { confirm } : {};
      const post = await dataOf(api.POST('/public/v1/posts/{id}/retry', { params: { path: { id } }, body }));
      session.output.one(post, wholePost);
    });
}
