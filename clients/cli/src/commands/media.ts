import type { Command } from 'commander';
import { dataOf } from '../../../typescript/src/index.ts';
import { atMost } from '../at-most.ts';
import { countOf } from '../input.ts';
import type { Session } from '../session.ts';

interface Options {
  search?: string;
  type?: 'image' | 'video' | 'audio' | 'document';
  limit?: number;
}

export function addMedia(program: Command, session: Session): void {
  const media = program.command('media').description('The files of the library.');
  media
    .command('list', { isDefault: true })
    .description('List files, newest first.')
    .option('--search <text>', 'only with this in the name')
    .option('--type <type>', 'image, video, audio or document')
    .option('--limit <n>', 'at most so many', countOf)
    .action(async ({ limit, ...query }: Options) => {
      const rookery = await session.client();
      session.output.rows(await atMost(limit, rookery.files(query)), [
        ['ID', ({ id }) => id],
        ['TYPE', ({ type }) => type],
        ['SIZE', ({ size }) => size],
        ['NAME', ({ originalName }) => originalName],
        ['ADDRESS', ({ path }) => path],
      ]);
    });
  media
    .command('delete')
    .description('Delete a file.')
    .argument('<file>', 'id of the file')
    .option('--force', 'also when a queued post uses it')
    .action(async (id: string, { force }: { force?: boolean }) => {
      const { api } = await session.client();
      const query = force ? { force: 'true' as const } : {};
      const deleted = await dataOf(api.DELETE('/public/v1/media/{id}', { params: { path: { id }, query } }));
      session.output.one(deleted, [['deleted', (gone) => gone.id]]);
    });
  media
    .command('job')
    .description('Show how a job goes on that makes media.')
    .argument('<job>', 'id of the job')
    .action(async (id: string) => {
      const { api } = await session.client();
      const job = await dataOf(api.GET('/public/v1/media/jobs/{id}', { params: { path: { id } } }));
      session.output.one(job, [
        ['id', (one) => one.id],
        ['state', ({ state, detail }) => `${state} ${detail ?? ''}`],
        ['error', ({ error }) => error],
      ]);
    });
}
