// node scripts/node24.mjs <file> [arguments]: runs a file of ours on the Node that node.json names, whatever Node is there, and installs
// before what is missing. Any Node from 16 on can read this file.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import module from 'node:module';
import { delimiter, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { install, ROOT } from './install.mjs';

/** Where Node keeps what it has compiled of our TypeScript: the next process starts in two thirds of the processor time. */
const COMPILED = join(ROOT, '.cache', 'compiled');

/** In this process where it is that Node already; else in another one, which gets the signals and gives its end. */
export async function run(file, args) {
  const isTool = /^(scripts|test)\//.test(file);
  const program = await install(isTool || undefined);
  const path = join(ROOT, file);
  const { version } = JSON.parse(readFileSync(join(ROOT, 'scripts', 'node.json'), 'utf8'));
  const isThis = process.version === `v${version}` && existsSync(process.execPath); // an install may have taken it away
  if (isThis || program === process.execPath) {
    module.enableCompileCache?.(COMPILED); // where Node may write there, and nobody named another folder
    process.argv.splice(1, process.argv.length - 1, path, ...args);
    await import(pathToFileURL(path).href);
    return;
  }
  const child = spawn(program, [path, ...args], {
    stdio: 'inherit',
    env: {
      NODE_COMPILE_CACHE: COMPILED,
      ...process.env,
      PATH: `${join(ROOT, 'node_modules', '.bin')}${delimiter}${process.env.PATH ?? ''}`,
    },
  });
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT'])
    process.on(signal, () => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal); // a terminal sends Ctrl-C to both
    });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , file, ...args] = process.argv;
  if (file) await run(file, args);
  else await install();
}
