import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { freePorts } from '../wire/ports.ts';
import { goProgram } from './peer-install.ts';
import { type Found, type Peer, startProcess, tcpAnswers } from './peer-process.ts';

/** An S3 gateway over a folder, which verifies signatures; built once with the machine's Go. */
export async function versitygwPeer(): Promise<Found> {
  const binary = await goProgram('github.com/versity/versitygw/cmd/versitygw', 'v1.8.0');
  return { start: () => start(binary) };
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
