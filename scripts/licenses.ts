// node scripts/node24.mjs scripts/licenses.ts: compares the license of each package of the lockfile with those that the
// license of this project (Apache-2.0) goes with, and prints the ones that are missing or not allowed. Packages of
// test/peers/ are programs that tests talk to; they are not part of what is distributed and not checked here.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** What a lockfile or a package.json says of a package; old packages have a list. */
export interface Declared {
  license?: string;
  licenses?: readonly { type: string }[];
}

/** SPDX ids with the reason why they go with Apache-2.0; `packages` where only some packages may have the license. */
const ALLOWED: Readonly<Record<string, { why: string; packages?: RegExp }>> = {
  'Apache-2.0': { why: 'the license of this project' },
  MIT: { why: 'permissive: keep the notice' },
  ISC: { why: 'permissive: keep the notice' },
  'BSD-2-Clause': { why: 'permissive: keep the notice' },
  'BSD-3-Clause': { why: 'permissive: keep the notice, do not advertise with the names' },
  'BlueOak-1.0.0': { why: 'permissive: pass on the license or a link to it' },
  'MIT-0': { why: 'permissive, without a condition' },
  '0BSD': { why: 'permissive, without a condition' },
  Unlicense: { why: 'given to the public domain' },
  'CC0-1.0': { why: 'given to the public domain' },
  'CC-BY-4.0': { why: 'data about browsers, used by tools of development only', packages: /^caniuse-lite$/ },
  'LGPL-3.0-or-later': {
    why: 'the shared library libvips, loaded at run time by sharp; a user can replace it',
    packages: /^@img\/sharp-(libvips-|wasm32$|win32-)/,
  },
};

/** SPDX compares ids without their case. */
const ALLOWED_BY_ID = new Map(Object.entries(ALLOWED).map(([id, allowed]) => [id.toLowerCase(), allowed]));

/** Says whether an SPDX expression allows the use of a package: one side of `OR`, each side of `AND`. */
export const isAllowed = (name: string, expression: string): boolean =>
  expression
    .replace(/^\((.*)\)$/, '$1')
    .split(' OR ')
    .some((choice) =>
      choice.split(' AND ').every((id) => {
        const allowed = ALLOWED_BY_ID.get(id.toLowerCase());
        return allowed !== undefined && (allowed.packages?.test(name) ?? true);
      }),
    );

const expressionOf = ({ license, licenses }: Declared): string | undefined =>
  license ?? licenses?.map(({ type }) => type).join(' AND ');

/**
 * One line for each package whose license is missing or not allowed.
 * @param packages the `packages` of a lockfile: path in node_modules → what it declares
 * @param installed reads the package.json of a path; undefined for a package of another platform
 */
export function licenseFaults(
  packages: Readonly<Record<string, Declared>>,
  installed: (path: string) => Declared | undefined,
): string[] {
  return Object.entries(packages).flatMap(([path, locked]) => {
    if (path === '') return [];
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const own = installed(path);
    const expression = expressionOf(own ?? locked);
    if (expression === undefined) return [`${name}: no license is declared`];
    if (own && locked.license !== undefined && expression !== locked.license)
      return [`${name}: package.json says ${expression}, the lockfile ${locked.license}`];
    return isAllowed(name, expression) ? [] : [`${name}: ${expression} is not in the list of scripts/licenses.ts`];
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const read = (path: string): unknown =>
    JSON.parse(readFileSync(fileURLToPath(new URL(`../${path}`, import.meta.url)), 'utf8'));
  const { packages } = read('package-lock.json') as { packages: Record<string, Declared> };
  const faults = licenseFaults(packages, (path) => {
    const manifest = `${path}/package.json`;
    return existsSync(fileURLToPath(new URL(`../${manifest}`, import.meta.url)))
      ? (read(manifest) as Declared)
      : undefined;
  });
  process.stdout.write(
    faults.map((line) => `${line}\n`).join('') +
      `${Object.keys(packages).length - 1} packages, ${faults.length} faults\n`,
  );
  process.exitCode = faults.length > 0 ? 1 : 0;
}
