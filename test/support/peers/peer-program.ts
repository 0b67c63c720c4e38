import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { peerEnv } from './peer-install.ts';

/** How a program ended, and all that it wrote. */
export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** A folder that is the home of a program of others: it finds nothing there, and what it keeps goes with the test. */
export function newHome(): { home: string; drop: () => void } {
  const home = mkdtempSync(join(tmpdir(), 'rookery-peer-'));
  return { home, drop: () => rmSync(home, { recursive: true, force: true }) };
}

/** What a program of others sees: no settings of whoever runs the tests, and a browser that opens nothing. */
const programEnv = (home: string, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  PATH: peerEnv()['PATH'],
  HOME: home,
  BROWSER: '/bin/true',
  NO_COLOR: '1',
  ...env,
});

/** Runs a script of others to its end. */
export const runProgram = (
  script: string,
  words: readonly string[],
  { home, env = {} }: { home: string; env?: NodeJS.ProcessEnv },
): Promise<Ended> =>
  new Promise((resolve) => {
    const options = { cwd: home, env: programEnv(home, env), timeout: 60_000, maxBuffer: 2 ** 24 };
    execFile(process.execPath, [script, ...words], options, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? -1) : 0, stdout, stderr }),
    );
  });

/** A program of others that goes on: its lines, as a test asks for them, and everything that it complained of. */
export function startProgram(
  script: string,
  words: readonly string[],
  { home, env = {} }: { home: string; env?: NodeJS.ProcessEnv },
) {
  const child = spawn(process.execPath, [script, ...words], { cwd: home, env: programEnv(home, env) });
  const ended = new Promise<void>((done) => void child.once('close', () => done()));
  let complaint = '';
  child.stderr.on('data', (text: Buffer) => void (complaint += text.toString()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    complaint: () => complaint,
    write: (line: string) => void child.stdin.write(`${line}\n`),
    async line(): Promise<string> {
      const { value, done } = await lines.next();
      if (done) throw new Error(`${script} ended: ${complaint}`);
      return value;
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await ended;
    },
  };
}
