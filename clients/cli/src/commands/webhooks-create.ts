import type { Command } from 'commander';
import { dataOf } from '../../../typescript/src/index.ts';
import { each, IDEMPOTENCY_KEY, keyed } from '../input.ts';
import type { Session } from '../session.ts';

interface Options {
  channel?: string[];
  event?: string[];
  secret?: boolean;
  idempotencyKey?: string;
}

export function addCreate(webhooks: Command, session: Session): void {
  webhooks
    .command('create')
    .description('Create a webhook.')
    .argument('<name>', 'what you call it')
    .argument('<address>', 'https address that is told')
    .option('--channel <id>', 'only of this channel; may be repeated', each)
    .option('--event <event>', 'event in place of the usual ones; may be repeated', each)
    .option('--secret', 'with a secret of its own to sign with, which is shown once')
    .option(...IDEMPOTENCY_KEY)
    .action(async (name: string, url: string, { channel = [], event, secret, idempotencyKey }: Options) => {
      const { api } = await session.client();
      const body = {
        name,
        url,
        integrations: channel.map((id) => ({ id })),
        ...(event && { events: event }),
        ...(secret && { secret }),
      };
      session.output.one(await dataOf(api.POST('/public/v1/webhooks', { body, params: keyed(idempotencyKey) })), [
        ['id', ({ id }) => id],
        ['secret', (webhook) => webhook.secret],
      ]);
    });
}
