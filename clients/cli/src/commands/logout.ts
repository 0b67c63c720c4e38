import type { Command } from 'commander';
import { CredentialError } from '../exit.ts';
import type { Session } from '../session.ts';

export function addLogout(program: Command, { profiles, profileName, output }: Session): void {
  program
    .command('logout')
    .description('Forget the key of this profile. It stays valid until you revoke it in the settings.')
    .action(async () => {
      if (!(await profiles.remove(profileName()))) throw new CredentialError(`There is no profile ${profileName()}`);
      output.say(`The profile ${profileName()} is gone. Revoke its key in the settings of the service.`);
    });
}
