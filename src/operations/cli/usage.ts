/** The arguments of a command. Settings are no arguments: they come from the environment. */
export interface CommandUsage {
  about: string;
  /** Shown behind the name, for example `[address]`; one word for each argument that may be given. */
  takes?: string;
  options?: readonly string[];
}

/** The result of reading a command line. `status` is the exit status with which `text` is printed. */
export type Asked<Name extends string> = { run: Name; args: readonly string[] } | { text: string; status: 0 | 2 };

const COMMAND = 'node rookery.mjs';
const HELP = ['--help', '-h'];

const line = (name: string, { takes, options = [] }: CommandUsage) =>
  [COMMAND, name, takes, ...options.map((option) => `[${option}]`)].filter(Boolean).join(' ');

function overview(commands: Readonly<Record<string, CommandUsage>>): string {
  const rows = Object.entries(commands).map(
    ([name, usage]) => [line(name, usage).slice(COMMAND.length + 1), usage.about] as const,
  );
  const width = Math.max(...rows.map(([shown]) => shown.length));
  return [
    `Usage: ${COMMAND} <command>`,
    '',
    ...rows.map(([shown, about]) => `  ${shown.padEnd(width)}  ${about}`),
    '',
    'Settings come from the environment and the file .env: docs/settings.gen.md.',
  ].join('\n');
}

/** Reads a command line. What no command understands is a fault, and not left aside. */
export function readUsage<Name extends string>(
  argv: readonly string[],
  commands: Readonly<Record<Name, CommandUsage>>,
  version: string,
): Asked<Name> {
  const [name = 'help', ...args] = argv;
  if (name === 'help' || HELP.includes(name)) return { text: overview(commands), status: 0 };
  if (name === '--version' || name === '-v') return { text: version, status: 0 };
  const isCommand = (word: string): word is Name => Object.hasOwn(commands, word);
  if (!isCommand(name)) return { text: `Unknown command: ${name}\n\n${overview(commands)}`, status: 2 };

  const usage: CommandUsage = commands[name];
  const about = `Usage: ${line(name, usage)}\n\n  ${usage.about}`;
  if (args.some((arg) => HELP.includes(arg))) return { text: about, status: 0 };
  const options = args.filter((arg) => arg.startsWith('-'));
  const unknown = options.find((option) => !usage.options?.includes(option));
  if (unknown !== undefined)
    return {
      text: `Unknown option of ${name}: ${unknown}. Settings come from the environment, for example: PORT=3001 ${COMMAND} start\n\n${about}`,
      status: 2,
    };
  const most = usage.takes?.split(' ').length ?? 0;
  if (args.length - options.length > most)
    return { text: `Too many arguments of ${name}: ${args.join(' ')}\n\n${about}`, status: 2 };
  return { run: name, args };
}
