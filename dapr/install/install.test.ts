import { afterEach, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findDapr, locate } from './find.ts';
import { installDapr } from './install.ts';

const PROGRAMS = ['daprd', 'placement', 'scheduler'];
const script = (version: string, knows: boolean) =>
  `#!/bin/sh\n${knows ? `[ "$1" = --version ] && echo ${version} && exit 0\n` : ''}echo 'time="x" level=fatal msg="no" ver=${version}' >&2; exit 1\n`;

function fakeBin(folder: string, version = '1.18.3', programs = PROGRAMS): string {
  mkdirSync(folder, { recursive: true });
  for (const program of programs) {
    writeFileSync(join(folder, program), script(version, program === 'daprd'));
    chmodSync(join(folder, program), 0o755);
  }
  return folder;
}

const cleanUp: (() => void)[] = [];
afterEach(() => cleanUp.splice(0).forEach((clean) => clean()));

/** An empty home, and an environment that finds nothing of this machine but `sh`, `tar` and the like. */
function machine() {
  const home = mkdtempSync(join(tmpdir(), 'rookery-install-'));
  cleanUp.push(() => rmSync(home, { recursive: true, force: true }));
  const lines: string[] = [];
  const environment = (more: Record<string, string> = {}) => ({ HOME: home, PATH: '/usr/bin:/bin', ...more });
  return {
    home,
    environment,
    lines,
    say: (line: string) => void lines.push(line),
    cache: join(home, '.cache', 'rookery', 'dapr'),
  };
}

/** Serves archives of fake programs as the release page does. */
async function releasePage(home: string, { spoil = '' } = {}): Promise<{ url: string; asked: string[] }> {
  const bin = fakeBin(join(home, 'release'));
  const files = new Map<string, Buffer>();
  for (const program of PROGRAMS) {
    const name = `${program}_linux_${process.arch === 'arm64' ? 'arm64' : 'amd64'}.tar.gz`;
    spawnSync('tar', ['-czf', join(home, name), '-C', bin, program]);
    const bytes = readFileSync(join(home, name));
    files.set(`/${name}`, bytes);
    files.set(
      `/${name}.sha256`,
      Buffer.from(
        `${createHash('sha256')
          .update(program === spoil ? 'something else' : bytes)
          .digest('hex')} *${name}\n`,
      ),
    );
  }
  const asked: string[] = [];
  const server: Server = createServer((request, response) => {
    asked.push(request.url!);
    const moved = request.url!.startsWith('/moved') ? request.url!.slice('/moved'.length) : undefined;
    if (moved === undefined) return void response.writeHead(302, { location: `/moved${request.url}` }).end();
    const body = files.get(moved);
    response.writeHead(body ? 200 : 404).end(body);
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  cleanUp.push(() => server.close());
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`, asked };
}

describe('looking for the programs', () => {
  test('takes DAPR_BIN_DIR first, then the path, the folder of the CLI, the cache', async () => {
    const { home, environment, cache } = machine();
    const bins = [join(home, 'named'), join(home, 'path'), join(home, '.dapr', 'bin'), join(cache, '1.18.3')];
    bins.forEach((folder) => fakeBin(folder));
    const full = environment({ DAPR_BIN_DIR: bins[0]!, PATH: `${bins[1]}:/usr/bin:/bin` });
    expect((await findDapr(full))?.daprd).toBe(join(bins[0]!, 'daprd'));
    expect((await findDapr({ ...full, DAPR_BIN_DIR: '' }))?.daprd).toBe(join(bins[1]!, 'daprd'));
    expect((await findDapr(environment()))?.scheduler).toBe(join(bins[2]!, 'scheduler'));
    rmSync(bins[2]!, { recursive: true });
    expect((await findDapr(environment()))?.placement).toBe(join(bins[3]!, 'placement'));
    rmSync(bins[3]!, { recursive: true });
    expect(await findDapr(environment())).toBeUndefined();
  });

  test('stops at an incomplete DAPR_BIN_DIR and does not look on', async () => {
    const { home, environment } = machine();
    fakeBin(join(home, '.dapr', 'bin'));
    const named = fakeBin(join(home, 'named'), '1.18.3', ['daprd', 'placement']);
    await expect(findDapr(environment({ DAPR_BIN_DIR: named }))).rejects.toThrow(/DAPR_BIN_DIR is .*no scheduler/);
    await expect(findDapr(environment({ DAPR_BIN_DIR: fakeBin(named, '1.17.0') }))).rejects.toThrow(/1\.17\.0/);
  });

  test('names a wrong version and goes on, also where only one program is of another version', async () => {
    const { home, environment, lines, say } = machine();
    const path = fakeBin(join(home, 'path'), '1.17.2');
    const cli = fakeBin(join(home, '.dapr', 'bin'));
    const found = await locate(environment({ PATH: `${path}:/usr/bin:/bin` }), say);
    expect(found?.from).toContain('.dapr');
    expect(lines).toEqual([expect.stringMatching(/the path: .*daprd is 1\.17\.2.*needed is 1\.18\.3/)]);
    writeFileSync(join(cli, 'scheduler'), script('1.18.2', false));
    expect(await findDapr(environment())).toBeUndefined();
  });

  test('honours XDG_CACHE_HOME', async () => {
    const { home, environment } = machine();
    const bin = fakeBin(join(home, 'elsewhere', 'rookery', 'dapr', '1.18.3'));
    expect((await findDapr(environment({ XDG_CACHE_HOME: join(home, 'elsewhere') })))?.daprd).toBe(join(bin, 'daprd'));
  });
});

describe('making the programs', () => {
  test('takes the release, checks its sha256, and finds it in the cache afterwards', async () => {
    const { home, environment, say, cache } = machine();
    const page = await releasePage(home);
    const first = await installDapr({ environment: environment(), say, releases: page.url });
    expect(first.from).toContain('release');
    expect(first.programs.daprd).toBe(join(cache, '1.18.3', 'daprd'));
    const asked = page.asked.length;
    expect((await installDapr({ environment: environment(), say, releases: page.url })).from).toContain('the cache');
    expect(page.asked).toHaveLength(asked);
    expect(readdirSync(cache)).toEqual(['1.18.3']);
  });

  test('two installs at once fetch once', async () => {
    const { home, environment, lines, say } = machine();
    const page = await releasePage(home);
    const both = await Promise.all(
      [1, 2].map(() => installDapr({ environment: environment(), say, releases: page.url })),
    );
    expect(both.map(({ programs }) => existsSync(programs.daprd))).toEqual([true, true]);
    expect(page.asked.filter((url) => url.startsWith('/moved/daprd') && url.endsWith('.gz'))).toHaveLength(1);
    expect(lines).toContain('another run is at it, waiting for it to end');
  });

  test('refuses an archive that is not what its sha256 says, and without Go says in one sentence what to do', async () => {
    const { home, environment, lines, say, cache } = machine();
    const page = await releasePage(home, { spoil: 'placement' });
    const empty = mkdtempSync(join(home, 'bin-'));
    const made = installDapr({ environment: environment({ PATH: empty }), say, releases: page.url });
    await expect(made).rejects.toThrow(/dapr init --slim.*install Go.*DAPR_BIN_DIR/);
    expect(lines.join('\n')).toMatch(/release: (placement_.* is not what its published sha256 says|.*tar)/);
    expect(lines.join('\n')).toMatch(/build: Go is not on the path/);
    expect(readdirSync(cache)).toEqual([]);
  });

  test('goes on at once when there is no release page', async () => {
    const { environment, lines, say } = machine();
    await expect(
      installDapr({ environment: environment({ PATH: '' }), say, releases: 'http://127.0.0.1:1' }),
    ).rejects.toThrow(/Dapr 1\.18\.3 is not on this machine/);
    expect(lines[1]).toMatch(/^release: .*ECONNREFUSED/);
  });

  test('builds from the source that is pinned and from no other', async () => {
    const { home, environment, lines, say } = machine();
    const bin = join(home, 'go');
    mkdirSync(bin);
    const told = JSON.stringify({ Dir: home, Sum: 'h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=' }, null, 1);
    writeFileSync(
      join(bin, 'go'),
      `#!/bin/sh\n[ "$1" = env ] && echo go1.26.6 && exit 0\n[ "$1" = mod ] && echo '${told}' && exit 0\nexit 1\n`,
      {
        mode: 0o755,
      },
    );
    const made = installDapr({ environment: environment({ PATH: `${bin}:/usr/bin:/bin` }), say, ways: ['build'] });
    await expect(made).rejects.toThrow(/is not on this machine/);
    expect(lines.at(-1)).toBe('build: the source of github.com/dapr/dapr v1.18.3 is not the one that is pinned here');
  });

  test('an interrupted run leaves nothing behind', async () => {
    const { home, environment, say, cache } = machine();
    const page = await releasePage(home);
    const stop = new AbortController();
    const made = installDapr({
      environment: environment(),
      releases: page.url,
      signal: stop.signal,
      say: (line) => (say(line), line.includes('placement') && stop.abort(new Error('interrupted'))),
    });
    await expect(made).rejects.toThrow('interrupted');
    expect(readdirSync(cache)).toEqual([]);
  });

  test('takes over from a run that was killed, and sweeps what it left', async () => {
    const { home, environment, say, cache } = machine();
    mkdirSync(join(cache, '.making-1', 'release'), { recursive: true });
    const lock = join(cache, '1.18.3.lock');
    writeFileSync(lock, '1');
    utimesSync(lock, 1, 1);
    await installDapr({ environment: environment(), say, releases: (await releasePage(home)).url });
    expect(readdirSync(cache)).toEqual(['1.18.3']);
  });
});
