import { Command, CommanderError } from 'commander';
import { RookeryError } from '../../typescript/src/index.ts';
import { addCommands } from './commands/index.ts';
import { EXIT, exitOf, wordsOf } from './exit.ts';
import { openSession, type World } from './session.ts';

/** Runs one command; answers the exit status. */
export async function runCli(args: readonly string[], world: World): Promise<number> {
  const program = new Command('rookery')
    .description('Publishes to social networks, from a terminal or for an agent.')
    .option('--json', 'print data as JSON')
    .option('--url <url>', 'address of the service (or ROOKERY_URL)')
    .option('--profile <name>', 'profile to use (or ROOKERY_PROFILE; "default" unless given)')
    .helpCommand(false)
    .configureOutput({ writeOut: world.out, writeErr: world.err })
    .exitOverride();
  const session = openSession(world, program);
  addCommands(program, session);
  try {
    await program.parseAsync(args, { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (world.signal.aborted) return 130;
    const isJson = program.opts<{ json?: boolean }>().json === true;
    session.output.say(isJson ? JSON.stringify(asJson(error)) : `rookery: ${wordsOf(error)}`);
    return exitOf(error);
  }
}

const asJson = (error: unknown) => ({
  ...(error instanceof RookeryError ? { statusCode: error.status, ...error.body } : {}),
  message: (error as Error).message,
  exit: exitOf(error),
});
