#!/usr/bin/env node
import { homedir } from 'node:os';
import { join } from 'node:path';
import { runCli } from './run.ts';

const { env, stdin, stdout, stderr } = process;
const stop = new AbortController();
/** So long a command may end by itself: one that waits for an answer does not hear of the signal. */
const ENDING_MS = 500;
function end(): void {
  stop.abort();
  setTimeout(() => process.exit(130), ENDING_MS).unref();
}
process.once('SIGINT', end);
process.once('SIGTERM', end);
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0); // `| head` has read enough
  throw error;
});

process.exitCode = await runCli(process.argv.slice(2), {
  env,
  configFolder: join(env['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'rookery'),
  stdin,
  out: (text) => void stdout.write(text),
  err: (text) => void stderr.write(text),
  signal: stop.signal,
});
