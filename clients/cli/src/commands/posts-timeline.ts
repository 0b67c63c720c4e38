import type { Command } from 'commander';
import { dataOf } from '../../../typescript/src/index.ts';
import type { Session } from '../session.ts';

export function addTimeline(posts: Command, session: Session): void {
  posts
    .command('timeline')
    .description('Show what happened to a post, oldest first.')
    .argument('<post>', 'id of the post')
    .action(async (id: string) => {
      const { api } = await session.client();
      const timeline = await dataOf(api.GET('/public/v1/posts/{id}/timeline', { params: { path: { id } } }));
      session.output.rows(timeline.items, [
        ['AT', ({ at }) => at],
        ['WHAT', ({ kind }) => kind],
        ['MESSAGE', ({ message }) => message],
      ]);
    });
}
