import { describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Declared, isAllowed, licenseFaults } from './licenses.ts';

describe('isAllowed', () => {
  test.each([
    ['left-pad', 'MIT', true],
    ['left-pad', '(GPL-3.0 OR MIT)', true],
    ['left-pad', 'Apache-2.0 AND MIT', true],
    ['left-pad', 'Apache-2.0 AND GPL-3.0', false],
    ['left-pad', 'AGPL-3.0-only', false],
    ['left-pad', 'SEE LICENSE IN LICENSE.md', false],
    ['left-pad', 'constructor', false],
    ['left-pad', 'LGPL-3.0-or-later', false],
    ['@img/sharp-libvips-linux-x64', 'LGPL-3.0-or-later', true],
  ])('%s under %s: %s', (name, expression, allowed) => expect(isAllowed(name, expression)).toBe(allowed));
});

describe('licenseFaults', () => {
  const faults = (locked: Declared, own?: Declared) =>
    licenseFaults({ '': {}, 'node_modules/a/node_modules/@b/c': locked }, () => own);

  test('accepts an allowed license of the lockfile, of package.json and of an old list', () => {
    expect(faults({ license: 'MIT' })).toEqual([]);
    expect(faults({ license: 'MIT' }, { license: 'MIT' })).toEqual([]);
    expect(faults({}, { licenses: [{ type: 'MIT' }] })).toEqual([]);
  });
  test('names a package without a license, with an unknown one, and with two that differ', () => {
    expect(faults({})).toEqual(['@b/c: no license is declared']);
    expect(faults({ license: 'SSPL-1.0' })).toEqual(['@b/c: SSPL-1.0 is not in the list of scripts/licenses.ts']);
    expect(faults({ license: 'MIT' }, { license: 'ISC' })).toEqual(['@b/c: package.json says ISC, the lockfile MIT']);
  });
});

test('LICENSE holds the text of Apache-2.0 without a change, and package.json names it', () => {
  expect(createHash('sha256').update(readFileSync('LICENSE')).digest('hex')).toBe(
    'cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30',
  );
  expect(JSON.parse(readFileSync('package.json', 'utf8'))).toMatchObject({ license: 'Apache-2.0' });
  expect(JSON.parse(readFileSync('package-lock.json', 'utf8'))).toMatchObject({
    packages: { '': { license: 'Apache-2.0' } },
  });
});
