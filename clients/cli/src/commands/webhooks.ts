import type { Command } from 'commander';
import { dataOf } from '../../../typescript/src/index.ts';
import { atMost } from '../at-most.ts';
import { countOf } from '../input.ts';
import type { Session } from '../session.ts';
import { addCreate } from './webhooks-create.ts';
import { addListen, eventColumns } from './webhooks-listen.ts';
import { addVerify } from './webhooks-verify.ts';

export function addWebhooks(program: Command, session: Session): void {
  const webhooks = program.command('webhooks').description('Addresses that are told what happens.');
  addCreate(webhooks, session);
  addOthers(webhooks, session);
  addListen(webhooks, session);
  addVerify(webhooks, session);
}

function addOthers(webhooks: Command, session: Session): void {
  webhooks
    .command('list', { isDefault: true })
    .description('List webhooks.')
    .action(async () => {
      const { api } = await session.client();
      session.output.rows(await dataOf(api.GET('/public/v1/webhooks')), [
        ['ID', ({ id }) => id],
        ['NAME', ({ name }) => name],
        ['ADDRESS', ({ url }) => url],
        ['LAST', ({ stats }) => stats.lastStatus],
        ['ERROR', ({ stats }) => stats.lastError],
      ]);
    });
  webhooks
    .command('delete')
    .description('Delete a webhook.')
    .argument('<webhook>', 'id of the webhook')
    .action(async (id: string) => {
      const { api } = await session.client();
      const deleted = await dataOf(api.DELETE('/public/v1/webhooks/{id}', { params: { path: { id } } }));
      session.output.one(deleted, [['deleted', (gone) => gone.id]]);
    });
  webhooks
    .command('events')
    .description('List the events of a webhook that was created with --event.')
    .argument('<webhook>', 'id of the webhook')
    .option('--after <number>', 'only those behind this number', countOf, 0)
    .option('--limit <n>', 'at most so many', countOf)
    .action(async (id: string, { after, limit }: { after: number; limit?: number }) => {
      const rookery = await session.client();
      session.output.rows(await atMost(limit, rookery.webhookEvents(id, after)), eventColumns);
    });
}
