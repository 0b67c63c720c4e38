import type { Command } from 'commander';
import { dataOf } from '../../../typescript/src/index.ts';
import type { Session } from '../session.ts';

export function addChannels(program: Command, session: Session): void {
  const channels = program.command('channels').description('The accounts that posts go to.');
  channels
    .command('list', { isDefault: true })
    .description('List channels.')
    .option('--group <id>', 'only of this group')
    .action(async ({ group }: { group?: string }) => {
      const rookery = await session.client();
      session.output.rows(await rookery.channels(group === undefined ? {} : { group }), [
        ['ID', ({ id }) => id],
        ['NETWORK', ({ identifier }) => identifier],
        ['NAME', ({ name }) => name],
        ['STATE', ({ disabled, refreshNeeded }) => (disabled ? 'disabled' : refreshNeeded ? 'connect again' : 'ready')],
        ['GROUP', ({ customer }) => customer?.name],
      ]);
    });
  channels
    .command('rules')
    .description('Show what a channel takes: its length, settings and methods.')
    .argument('<channel>', 'id of the channel')
    .action(async (id: string) => {
      const { api } = await session.client();
      const { output } = await dataOf(api.GET('/public/v1/integration-settings/{id}', { params: { path: { id } } }));
      session.output.one(output, [
        ['length', ({ maxLength }) => maxLength],
        ['rules', ({ rules }) => rules],
        ['settings', ({ settings }) => (typeof settings === 'string' ? settings : JSON.stringify(settings))],
        ['methods', ({ tools }) => tools.map(({ methodName }) => methodName).join(' ')],
      ]);
    });
  channels
    .command('slot')
    .description('Show the next free time, in UTC.')
    .argument('[channel]', 'id of the channel; all of them unless given')
    .action(async (id?: string) => {
      const { api } = await session.client();
      const slot = await dataOf(
        id === undefined
          ? api.GET('/public/v1/find-slot')
          : api.GET('/public/v1/find-slot/{id}', { params: { path: { id } } }),
      );
      session.output.one(slot, [['date', ({ date }) => date]]);
    });
}
