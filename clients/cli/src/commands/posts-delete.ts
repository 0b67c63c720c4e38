import type { Command } from 'commander';
import { dataOf } from '../../../typescript/src/index.ts';
import type { Session } from '../session.ts';

export function addDelete(posts: Command, session: Session): void {
  posts
    .command('delete')
    .description('Delete a post with its thread for good. What is out stays at the network.')
    .argument('<post>', 'id of the post, or with --group of a group')
    .option('--group', 'all posts of the group')
    .action(async (id: string, { group }: { group?: boolean }) => {
      const rookery = await session.client();
      const deleted = group
        ? await dataOf(rookery.api.DELETE('/public/v1/posts/group/{group}', { params: { path: { group: id } } }))
        : await rookery.deletePost(id);
      session.output.one(deleted, [['deleted', (gone) => gone.id]]);
    });
}
