import { createInterface } from 'node:readline';

type Commands = Readonly<Record<string, (message: any) => unknown>>; // oxlint-disable-line typescript/no-explicit-any -- each process knows its own messages

/** The other end of `startChild`: answers each line of JSON by the command that its `do` names. */
export function answering(commands: Commands): void {
  const say = (line: object) => void process.stdout.write(`${JSON.stringify(line)}\n`);
  createInterface({ input: process.stdin }).on('line', (line) => {
    const message = JSON.parse(line) as { id: number; do: string };
    const { id } = message;
    Promise.resolve()
      .then(() => commands[message.do]!(message))
      .then(
        (value) => say({ id, value: value ?? null }),
        (error: unknown) => say({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
      );
  });
  process.stdin.on('end', () => process.exit(0));
}
