import type { Command } from 'commander';
import type { Rookery } from '../../../typescript/src/index.ts';
import type { Column } from '../output.ts';
import type { Session } from '../session.ts';

export const selfColumns: readonly Column<Awaited<ReturnType<Rookery['me']>>>[] = [
  ['organization', ({ orgName }) => orgName],
  ['role', ({ role }) => role],
  ['plan', ({ tier }) => tier],
  ['scopes', ({ scopes }) => scopes?.join(' ') ?? 'all'],
  ['user', ({ userId }) => userId],
];

export function addWhoami(program: Command, session: Session): void {
  program
    .command('whoami')
    .description('Show as whom, and for which organization, commands act.')
    .action(async () => {
      const rookery = await session.client();
      session.output.one({ ...(await rookery.me()), url: rookery.url }, [
        ...selfColumns,
        ['address', () => rookery.url],
      ]);
    });
}
