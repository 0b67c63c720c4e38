import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { pipeline } from 'node:stream';
import { promisify } from 'node:util';
import { locked, peerCache, peerEnv } from './peer-install.ts';
import { type Found, type Peer, startProcess } from './peers.ts';
import { freePorts } from '../wire/ports.ts';

const run = promisify(execFile);
const CACHE = peerCache('snac');
const APT_MS = 120_000;

/**
 * A real server with Mastodon's client API: the one on the path, else Debian's package, unpacked into a cache folder.
 */
export async function snacPeer(): Promise<Found> {
  const binary = await locate();
  return { start: () => start(binary) };
}

async function locate(): Promise<string> {
  const onPath = await run('which', ['snac'], { env: peerEnv() }).then(
    ({ stdout }) => stdout.trim(),
    () => '',
  );
  if (onPath) return onPath;
  const unpacked = `${CACHE}/root/usr/bin/snac`;
  await locked(CACHE, async () => {
    if (!existsSync(unpacked)) await download();
  });
  return unpacked;
}

/**
 * Takes `snac2` from the backports of the Debian that this machine has its packages from. Nothing is installed, and
 * apt's own state stays as it is.
 */
async function download(): Promise<void> {
  process.stderr.write('fetching peer snac (once)\n');
  const source = await debianSource();
  for (const folder of ['lists/partial', 'archives/partial', 'root'])
    await mkdir(`${CACHE}/${folder}`, { recursive: true });
  await writeFile(`${CACHE}/sources.list`, source);
  const options = [
    'Dir::Etc::sourcelist',
    `${CACHE}/sources.list`,
    'Dir::Etc::sourceparts',
    '-',
    'Dir::State::lists',
    `${CACHE}/lists`,
    'Dir::Cache',
    CACHE,
    'Acquire::Languages',
    'none',
    'APT::Sandbox::User',
    '',
  ];
  const flags = Array.from({ length: options.length / 2 }, (_, n) => [
    '-o',
    `${options[2 * n]}=${options[2 * n + 1]}`,
  ]).flat();
  const settings = { cwd: CACHE, env: { ...peerEnv(), LC_ALL: 'C' }, timeout: APT_MS };
  await run('apt-get', [...flags, 'update'], settings);
  await run('apt-get', [...flags, 'download', 'snac2'], settings);
  const [deb] = (await readdir(CACHE)).filter((file) => file.endsWith('.deb'));
  await run('dpkg', ['-x', `${CACHE}/${deb}`, `${CACHE}/root`], settings);
}

/** One line for apt: the machine's own mirror and key, with the suite of its backports. */
async function debianSource(): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const codename = /^VERSION_CODENAME=(\w+)$/m.exec(release)?.[1];
  if (!/^ID=debian$/m.test(release) || !codename)
    throw new Error('snac is not on the path, and this machine is no Debian to take it from');
  const folder = '/etc/apt/sources.list.d';
  const files = [
    '/etc/apt/sources.list',
    ...(await readdir(folder).catch(() => [])).map((file) => `${folder}/${file}`),
  ];
  for (const file of files) {
    const text = await readFile(file, 'utf8').catch(() => '');
    const stanza = text.split(/\n\s*\n/).find((part) => new RegExp(`^Suites:.*\\b${codename}\\b(?!-)`, 'm').test(part));
    const uri = stanza && /^URIs:\s*(\S+)/m.exec(stanza)?.[1];
    if (uri) {
      const key = /^Signed-By:\s*(\S+)/m.exec(stanza)?.[1];
      return `deb ${key ? `[signed-by=${key}] ` : ''}${uri} ${codename}-backports main\n`;
    }
    const line = new RegExp(`^deb\\s+(\\[[^\\]]*\\]\\s+)?(\\S+)\\s+${codename}\\s`, 'm').exec(text);
    if (line) return `deb ${line[1] ?? ''}${line[2]} ${codename}-backports main\n`;
  }
  throw new Error('snac is not on the path, and no Debian source was found to take it from');
}

/** `env.passwords`: by user, `alice` and `bob`. */
async function start(binary: string): Promise<Peer> {
  const folder = await mkdtemp(`${tmpdir()}/rookery-snac-`);
  const data = `${folder}/data`;
  const [port, inner] = (await freePorts(2)) as [number, number];
  await answering(binary, ['init', data], `127.0.0.1\n${inner}\n127.0.0.1:${port}\n\n\n`);
  const passwords: Record<string, string> = {};
  for (const user of ['alice', 'bob'])
    passwords[user] = /password is (\S+)/.exec(await answering(binary, ['adduser', data, user], '\n'))![1]!;
  const settings = JSON.parse(await readFile(`${data}/server.json`, 'utf8')) as object;
  await writeFile(`${data}/server.json`, JSON.stringify({ ...settings, protocol: 'http' }));

  const url = `http://127.0.0.1:${port}`;
  const front = await startFront(port, inner);
  const peer = await startProcess('snac', binary, ['httpd', data], {
    cwd: folder,
    probe: async () => ({ url, passwords, answered: await reachable(`${url}/api/v1/instance`) }),
  });
  const stop = async () => {
    await peer.stop();
    front.close();
    front.closeAllConnections();
    await rm(folder, { recursive: true, force: true });
  };
  return { ...peer, stop, [Symbol.asyncDispose]: stop };
}

/**
 * A reverse proxy, as snac has one wherever it is served to others. By itself it ends a connection after each answer and
 * says so to nobody, so that a client which has sent the next request by then never hears of it.
 */
async function startFront(port: number, inner: number) {
  const front = createServer((from, answer) => {
    const { method, url: path, headers } = from;
    const to = request({ host: '127.0.0.1', port: inner, method, path, headers, agent: false }, (told) => {
      answer.writeHead(told.statusCode!, told.headers);
      pipeline(told, answer, () => undefined);
    });
    pipeline(from, to, (error) => error && answer.destroy());
    to.on('error', () => answer.destroy());
  });
  await once(front.listen(port, '127.0.0.1'), 'listening');
  return front;
}

const answering = (binary: string, args: string[], input: string) =>
  new Promise<string>((resolve, reject) => {
    const child = spawn(binary, args, { env: peerEnv(), stdio: ['pipe', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (said += data.toString()));
    child.on('error', reject);
    child.on('exit', (code) =>
      code === 0 ? resolve(said) : reject(new Error(`snac ${args[0]} ended with ${code}: ${said}`)),
    );
    child.stdin.end(input);
  });

const reachable = (url: string) =>
  new Promise<true>((resolve, reject) => {
    request(url, (answer) => {
      answer.resume();
      if (answer.statusCode === 200) resolve(true);
      else reject(new Error(`status ${answer.statusCode}`));
    })
      .on('error', reject)
      .end();
  });
