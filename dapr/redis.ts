import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Environment } from './install/index.ts';
import { type Running, startProcess, waitUntil } from './processes.ts';

const NO_REDIS =
  'The cluster needs Redis for its bus: set REDIS_URL, or install redis-server (Debian: apt-get install redis-server, macOS: brew install redis).';

const answersPing = (port: number, password: string) =>
  new Promise<boolean>((done) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(`AUTH ${password}\r\nPING\r\n`));
    const end = (answer: boolean) => {
      socket.destroy();
      done(answer);
    };
    let answers = '';
    socket.setEncoding('utf8').on('data', (more: string) => {
      answers += more;
      if (answers.split('\r\n').length > 2) end(answers.startsWith('+OK\r\n+PONG'));
    });
    socket.on('error', () => end(false));
    socket.setTimeout(1_000, () => end(false));
  });

/**
 * A Redis of the cluster's own, with a new password for each start: it carries wake-ups and counts, nothing that must
 * outlive it. Rejects with what to install where there is none.
 */
export async function startRedis({
  port,
  folder,
  logFile,
  environment,
}: {
  port: number;
  folder: string;
  logFile: string;
  environment: Environment;
}): Promise<{ url: string; running: Running }> {
  if (spawnSync('redis-server', ['--version'], { env: { ...environment } }).status !== 0) throw new Error(NO_REDIS);
  mkdirSync(folder, { recursive: true });
  const password = randomBytes(24).toString('hex');
  const settings = join(folder, 'redis.conf'); // other users of the machine read arguments, and not this file
  rmSync(settings, { force: true });
  writeFileSync(settings, `requirepass ${password}\n`, { mode: 0o600 });
  const running = startProcess({
    name: 'redis',
    command: 'redis-server',
    environment,
    logFile,
    args: [settings, '--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no'],
  });
  await waitUntil('Redis answers', () => answersPing(port, password), { needs: [running], ms: 10_000 });
  return { url: `redis://:${password}@127.0.0.1:${port}`, running };
}
