import { createInterface } from 'node:readline';

/** Answers each line of JSON on standard input by the command that its `do` names, with one line of JSON. Ends with its input. */
export function answering(commands) {
  const say = (line) => void process.stdout.write(`${JSON.stringify(line)}\n`);
  createInterface({ input: process.stdin }).on('line', (line) => {
    const message = JSON.parse(line);
    const { id } = message;
    Promise.resolve()
      .then(() => commands[message.do](message))
      .then((value) => say({ id, value: value ?? null }), (error) => say({ id, error: error?.stack ?? String(error) }));
  });
  process.stdin.on('end', () => process.exit(0));
}

/** What this process was started with. */
export const settings = JSON.parse(process.argv[2]);
