import type { Command } from 'commander';
import { describeCommands } from '../describe.ts';
import { EXIT_MEANINGS, UsageError } from '../exit.ts';
import type { Session } from '../session.ts';

export function addHelp(program: Command, session: Session): void {
  program
    .command('help')
    .description('Show help; with --json all commands with schemas of their input, for agents.')
    .argument('[command...]', 'command to show')
    .action((words: string[]) => {
      const command = words.reduce<Command | undefined>(
        (at, word) => at?.commands.find((one) => one.name() === word),
        program,
      );
      if (!command) throw new UsageError(`There is no command ${words.join(' ')}`);
      if (program.opts<{ json?: boolean }>().json !== true)
        return session.output.raw(command.helpInformation().trimEnd());
      session.output.raw(
        JSON.stringify(
          { name: program.name(), exit: EXIT_MEANINGS, commands: describeCommands(command) },
          undefined,
          2,
        ),
      );
    });
}
