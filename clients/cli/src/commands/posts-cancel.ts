import type { Command } from 'commander';
import { dataOf } from '../../../typescript/src/index.ts';
import type { Session } from '../session.ts';

export function addCancel(posts: Command, session: Session): void {
  posts
    .command('cancel')
    .description('Take a post out of the queue; it stays as a draft.')
    .argument('<post>', 'id of the post')
    .action(async (id: string) => {
      const { api } = await session.client();
      const changed = await dataOf(
        api.PUT('/public/v1/posts/{id}/status', { params: { path: { id } }, body: { status: 'draft' } }),
      );
      session.output.one(changed, [
        ['id', (post) => post.id],
        ['state', ({ state }) => state],
      ]);
    });
}
