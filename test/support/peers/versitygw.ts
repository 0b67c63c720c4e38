import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePorts } from '../wire/ports.ts';
import { locked, peerEnv } from './peer-install.ts';
import { type Found, type Peer, startProcess, tcpAnswers } from './peer-process.ts';

const run = promisify(execFile);
const VERSION = 'v1.8.0';
const MODULE = 'github.com/versity/versitygw/cmd/versitygw';
const CACHE = fileURLToPath(new URL('../../../.cache/peers/versitygw', import.meta.url));
const BUILD_MS = 15 * 60_000;

/** An S3 gateway over a folder, which verifies signatures; built once with the machine's Go. */
export async function versitygwPeer(): Promise<Found> {
  const folder = `${CACHE}/${VERSION}`;
  await locked(CACHE, async () => {
    if (existsSync(`${folder}/versitygw`)) return;
    process.stderr.write(`building peer versitygw ${VERSION} (once)\n`);
    await run('go', ['install', `${MODULE}@${VERSION}`], {
      env: { ...peerEnv(), GOBIN: folder, GOFLAGS: '-modcacherw' },
      timeout: BUILD_MS,
      maxBuffer: 2 ** 24,
    });
  });
  return { start: () => start(`${folder}/versitygw`) };
}

async function start(binary: string): Promise<Peer> {
  const folder = await mkdtemp(`${tmpdir()}/rookery-versitygw-`);
  await mkdir(`${folder}/data`);
  const [port] = await freePorts(1);
  const keys = { accessKeyId: 'rookery', secretAccessKey: 'a-secret-of-the-tests' };
  const peer = await startProcess(
    'versitygw',
    binary,
    [
      '--access',
      keys.accessKeyId,
      '--secret',
      keys.secretAccessKey,
      '--port',
      `127.0.0.1:${port}`,
      '--quiet',
      'posix',
      `${folder}/data`,
    ],
    {
      cwd: folder,
      probe: async () => ({
        url: `http://127.0.0.1:${port}`,
        ...keys,
        region: 'us-east-1',
        answered: await tcpAnswers(port!),
      }),
    },
  );
  const stop = async () => {
    await peer.stop();
    await rm(folder, { recursive: true, force: true });
  };
  return { ...peer, stop, [Symbol.asyncDispose]: stop };
}
