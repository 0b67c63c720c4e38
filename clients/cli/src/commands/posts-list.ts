import type { Command } from 'commander';
import type { Session } from '../session.ts';
import { atMost } from '../at-most.ts';
import { countOf } from '../input.ts';
import { listedPost } from './columns.ts';

interface Options {
  from?: string;
  to?: string;
  group?: string;
  limit?: number;
}

export function addList(posts: Command, session: Session): void {
  posts
    .command('list')
    .description('List posts, of 30 days back to 30 days ahead unless told.')
    .option('--from <date>', 'from this date on')
    .option('--to <date>', 'up to this date')
    .option('--group <id>', 'only of channels of this group')
    .option('--limit <n>', 'at most so many', countOf)
    .action(async ({ from, to, group, limit }: Options) => {
      const rookery = await session.client();
      const query = {
        ...(from !== undefined && { startDate: from }),
        ...(to !== undefined && { endDate: to }),
        ...(group !== undefined && { customer: group }),
      };
      session.output.rows(await atMost(limit, rookery.posts(query)), listedPost);
    });
}
