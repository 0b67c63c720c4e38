import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const NAMES = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'NODE_COMPILE_CACHE'];
/**
 * All that a process of the product has of the environment of the tests: no setting, and what was compiled for others
 * before.
 */
export const inherited: Readonly<Record<string, string>> = Object.fromEntries(
  NAMES.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
);

type Env = Readonly<Record<string, string>>;
function run(args: readonly string[], env: Env) {
  const child = spawn(process.execPath, ['--no-warnings', 'rookery.ts', ...args], {
    cwd: ROOT,
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said += text));
  const ended = new Promise<number | null>((done) => child.once('close', done));
  return { child, said: () => said, ended };
}

/** `node rookery.ts <args>` to its end, with these settings and no others. */
export async function runRookery(args: readonly string[], env: Env): Promise<{ code: number | null; said: string }> {
  const { said, ended } = run(args, env);
  return { code: await ended, said: said() };
}

/** `node rookery.ts start` until it is disposed of; ends when it is ready. */
export async function startRookery(env: Env) {
  const { child, said, ended } = run(['start'], env);
  const over = ended.then((code) => Promise.reject(new Error(`It ended with ${code}: ${said()}`)));
  over.catch(() => undefined);
  const ready = new Promise<void>((done) => child.stdout.on('data', () => said().includes('is ready.') && done()));
  await Promise.race([ready, over]);
  return {
    said,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
      await ended;
    },
  };
}
