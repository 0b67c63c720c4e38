import type { Command } from 'commander';
import { dataOf, type Schemas } from '../../../typescript/src/index.ts';
import { countOf } from '../input.ts';
import type { Column } from '../output.ts';
import { pause } from '../pause.ts';
import type { Session } from '../session.ts';

export const eventColumns: readonly Column<Schemas['WebhookEvent']>[] = [
  ['NUMBER', ({ seq }) => seq],
  ['AT', ({ at }) => at],
  ['EVENT', ({ event }) => event],
  ['BODY', ({ body }) => body],
];
interface Options {
  after?: number;
  interval: number;
  count?: number;
}

export function addListen(webhooks: Command, session: Session): void {
  webhooks
    .command('listen')
    .description('Print events of a webhook as they come, without an address that can be reached.')
    .argument('<webhook>', 'id of the webhook')
    .option('--after <number>', 'first those behind this number; only new ones unless given', countOf)
    .option('--interval <seconds>', 'ask so often', countOf, 10)
    .option('--count <n>', 'end after so many', countOf)
    .action(async (id: string, { after, interval, count = Infinity }: Options) => {
      const rookery = await session.client();
      let last = after ?? (await lastOf(rookery.api, id));
      session.output.say(`listening behind ${last}`);
      for (let printed = 0; printed < count;) {
        for await (const event of rookery.webhookEvents(id, last)) {
          session.output.line(event, eventColumns);
          last = event.seq;
          if ((printed += 1) >= count) return;
        }
        await pause(Math.max(interval, 1) * 1_000, session.signal);
      }
    });
}

async function lastOf(api: Awaited<ReturnType<Session['client']>>['api'], id: string): Promise<number> {
  const query = { after: Number.MAX_SAFE_INTEGER };
  return (await dataOf(api.GET('/public/v1/webhooks/{id}/events', { params: { path: { id }, query } }))).last;
}
