import type { Command } from 'commander';
import { dataOf } from '../../../typescript/src/index.ts';
import { atMost } from '../at-most.ts';
import { countOf, each } from '../input.ts';
import type { Session } from '../session.ts';
import { addListen, eventColumns } from './webhooks-listen.ts';
import { addVerify } from './webhooks-verify.ts';

export function addWebhooks(program: Command, session: Session): void {
  const webhooks = program.command('webhooks').description('Addresses that are told what happens.');
  addCreate(webhooks, session);
  addOthers(webhooks, session);
  addListen(webhooks, session);
  addVerify(webhooks, session);
}

interface Options {
  channel?: string[];
  event?: string[];
  secret?: boolean;
}

function addCreate(webhooks: Command, session: Session): void {
  webhooks
    .command('create')
    .description('Create a webhook.')
    .argument('<name>', 'what you call it')
    .argument('<address>', 'https address that is told')
    .option('--channel <id>', 'only of this channel; may be repeated', each)
    .option('--event <event>', 'event in place of the usual ones; may be repeated', each)
    .option('--secret', 'with a secret of its own to sign with, which is shown once')
    .action(async (name: string, url: string, { channel = [], event, secret }: Options) => {
      const { api } = await session.client();
      const body = {
        name,
        url,
        integrations: channel.map((id) => ({ id })),
        ...(event && { events: event }),
        ...(secret && { secret }),
      };
      session.output.one(await dataOf(api.POST('/public/v1/webhooks', { body })), [
        ['id', ({ id }) => id],
        ['secret', (webhook) => webhook.secret],
      ]);
    });
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
