import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import type { Environment } from './install/index.ts';
import { type Running, startProcess, waitUntil } from './processes.ts';

const NO_REDIS =
  'The cluster needs Redis for its bus: set REDIS_URL, or install redis-server (Debian: apt-get install redis-server, macOS: brew install redis).';

const answersPing = (port: number) =>
  new Promise<boolean>((done) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write('PING\r\n'));
    const end = (answer: boolean) => {
      socket.destroy();
      done(answer);
    };
    socket.on('data', (data) => end(data.toString().startsWith('+PONG')));
    socket.on('error', () => end(false));
    socket.setTimeout(1_000, () => end(false));
  });

/** A Redis of the cluster's own: it carries wake-ups and counts, nothing that must outlive it. Rejects with what to install where there is none. */
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
  const running = startProcess({
    name: 'redis',
    command: 'redis-server',
    environment,
    logFile,
    args: ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no'],
  });
  await waitUntil('Redis answers', () => answersPing(port), { needs: [running], ms: 10_000 });
  return { url: `redis://127.0.0.1:${port}`, running };
}
