import type { Command } from 'commander';
import { atMost } from '../at-most.ts';
import { UsageError } from '../exit.ts';
import type { Session } from '../session.ts';
import { listedPost } from './columns.ts';

export function addCalendar(program: Command, session: Session): void {
  program
    .command('calendar')
    .description('Show the posts of a month by their dates, in UTC.')
    .argument('[month]', 'such as 2026-09; the current one unless given')
    .action(async (month = new Date().toISOString().slice(0, 7)) => {
      if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(month)) throw new UsageError(`${month} is no month such as 2026-09`);
      const start = new Date(`${month}-01T00:00:00.000Z`);
      const end = new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1) - 1);
      const rookery = await session.client();
      const range = { startDate: start.toISOString(), endDate: end.toISOString() };
      const posts = await atMost(undefined, rookery.posts(range));
      session.output.rows(
        posts.sort((a, b) => a.publishDate.localeCompare(b.publishDate)),
        [
          ['DAY', ({ publishDate }) => publishDate.slice(0, 10)],
          ['TIME', ({ publishDate }) => publishDate.slice(11, 16)],
          ...listedPost.filter(([head]) => head !== 'DATE'),
        ],
      );
    });
}
