import type { Command } from 'commander';
import { dataOf, type Schemas } from '../../../typescript/src/index.ts';
import { RefusedError } from '../exit.ts';
import { countOf } from '../input.ts';
import type { Column } from '../output.ts';
import type { Session } from '../session.ts';

type Metric = Schemas['Numbers'][number];
const meanOf = ({ data }: Metric): number | undefined =>
  data.length === 0
    ? undefined
    : Math.round((100 * data.reduce((sum, { total }) => sum + Number(total), 0)) / data.length) / 100;
const columns: readonly Column<Metric>[] = [
  ['METRIC', ({ label }) => label],
  ['LAST', ({ data }) => data.at(-1)?.total],
  ['MEAN', meanOf], // no sum: followers, and totals of posts, are counted again on each day
  ['CHANGE %', ({ percentageChange }) => percentageChange],
];

export function addAnalytics(program: Command, session: Session): void {
  const analytics = program.command('analytics').description('What channels and posts counted.');
  analytics
    .command('channel')
    .description('Show what a channel counted on each of the last whole days.')
    .argument('<channel>', 'id of the channel')
    .option('--days <n>', 'so many days; 7 unless given', countOf)
    .action(async (integrationId: string, { days = 7 }: { days?: number }) => {
      const { api } = await session.client();
      const params = { path: { integrationId }, query: { date: String(days) } };
      session.output.rows(await dataOf(api.GET('/public/v1/analytics/{integrationId}', { params })), columns);
    });
  analytics
    .command('post')
    .description('Show the totals of a post at the end of each of the last whole days.')
    .argument('<post>', 'id of the post')
    .option('--days <n>', 'so many days; 7 unless given', countOf)
    .action(async (postId: string, { days = 7 }: { days?: number }) => {
      const { api } = await session.client();
      const params = { path: { postId }, query: { date: String(days) } };
      const numbers = await dataOf(api.GET('/public/v1/analytics/post/{postId}', { params }));
      if (!Array.isArray(numbers)) throw new RefusedError('Which release at the network is this post is not known');
      session.output.rows(numbers, columns);
    });
}
