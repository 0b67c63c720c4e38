import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { locked, peerCache, peerEnv } from './peer-install.ts';

const run = promisify(execFile);
const APT_MS = 300_000;

/**
 * Packages of the Debian that this machine is, with all that they need and the machine lacks, unpacked into a cache
 * folder, which is answered. Nothing is installed, and apt's own state stays as it is.
 */
export async function debianPackages(name: string, packages: readonly string[]): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  if (!/^ID=debian$/m.test(release))
    throw new Error(`${name} comes from Debian's packages, and this machine is no Debian`);
  const cache = peerCache(name);
  const mark = `${cache}/.unpacked`;
  await locked(cache, async () => {
    if (existsSync(mark)) return;
    process.stderr.write(`fetching peer ${name} (once)\n`);
    for (const folder of ['lists/partial', 'archives/partial', 'root'])
      await mkdir(`${cache}/${folder}`, { recursive: true });
    const flags = [
      `Dir::State::lists=${cache}/lists`,
      `Dir::Cache=${cache}`,
      'APT::Sandbox::User=',
      'Acquire::Languages=none',
    ].flatMap((option) => ['-o', option]);
    const apt = (...words: string[]) =>
      run('apt-get', [...flags, ...words], {
        cwd: cache,
        env: { ...peerEnv(), LC_ALL: 'C' },
        timeout: APT_MS,
        maxBuffer: 2 ** 24,
      });
    await apt('update');
    const { stdout } = await apt('install', '--print-uris', '-y', '--no-install-recommends', ...packages);
    await apt('download', ...[...stdout.matchAll(/^'\S+' ([^_\s]+)_/gm)].map(([, one]) => one!));
    for (const file of (await readdir(cache)).filter((one) => one.endsWith('.deb'))) {
      await run('dpkg', ['-x', `${cache}/${file}`, `${cache}/root`]);
      await rm(`${cache}/${file}`);
    }
    await rm(`${cache}/lists`, { recursive: true });
    await writeFile(mark, packages.join('\n'));
  });
  return `${cache}/root`;
}
