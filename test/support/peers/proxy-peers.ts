import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { once } from 'node:events';
import { locked, peerCache, peerEnv } from './peer-install.ts';
import { type Found, type Peer, startProcess } from './peers.ts';
import { freePort } from '../wire/ports.ts';

const run = promisify(execFile);
const CACHE = peerCache('proxies');

/** The program of a Debian package: the one on the path, else unpacked into a cache folder. */
async function program(name: string, debian = name): Promise<string> {
  const found = await run('which', [name], { env: peerEnv() }).then(
    ({ stdout }) => stdout.trim(),
    () => '',
  );
  if (found) return found;
  const folder = `${CACHE}/${name}`;
  const unpacked = `${folder}/usr/bin/${name}`;
  await locked(folder, async () => {
    if (existsSync(unpacked)) return;
    await mkdir(folder, { recursive: true });
    await run('apt-get', ['download', debian], { cwd: folder, env: peerEnv(), timeout: 120_000 });
    const [file] = (await readdir(folder)).filter((one) => one.endsWith('.deb'));
    await run('dpkg', ['-x', `${folder}/${file}`, folder], { env: peerEnv() });
  });
  return unpacked;
}

async function listening(port: number) {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
  } finally {
    socket.destroy();
  }
  return { url: `127.0.0.1:${port}`, port };
}
interface Login {
  username: string;
  password: string;
}

/** A real SOCKS5 server, whose connections come from 127.0.0.2. */
export async function microsocks(login: Login): Promise<Found & { start?: () => Promise<Peer> }> {
  const binary = await program('microsocks');
  return {
    start: async () => {
      const port = await freePort();
      const args = [
        '-i',
        '127.0.0.1',
        '-p',
        String(port),
        '-b',
        '127.0.0.2',
        '-u',
        login.username,
        '-P',
        login.password,
      ];
      return startProcess('microsocks', binary, args, { cwd: tmpdir(), probe: () => listening(port) });
    },
  };
}

/** A real HTTP proxy, whose connections come from 127.0.0.3. */
export async function tinyproxy({ username, password }: Login): Promise<Found> {
  const binary = await program('tinyproxy', 'tinyproxy-bin');
  return {
    start: async () => {
      const [port, folder] = [await freePort(), await mkdtemp(join(tmpdir(), 'rookery-tinyproxy-'))];
      const lines = [
        `Port ${port}`,
        'Listen 127.0.0.1',
        'Bind 127.0.0.3',
        'Allow 127.0.0.1',
        `BasicAuth ${username} ${password}`,
        'Timeout 60',
        'MaxClients 20',
      ];
      await writeFile(join(folder, 'tinyproxy.conf'), `${lines.join('\n')}\n`);
      return startProcess('tinyproxy', binary, ['-d', '-c', join(folder, 'tinyproxy.conf')], {
        cwd: folder,
        probe: () => listening(port),
      });
    },
  };
}
