import { expect, test } from '@jest/globals';
import { fc } from '../../../test/support/properties.ts';
import { scopeFor, SCOPES, scopesOfToken, sortedScopes } from './scopes.ts';

const READ = ['mcp:read'];
const BOTH = ['mcp:read', 'mcp:posts:write'];
test('a token has the granted scopes and at least mcp:read; mcp:admin and unknown values grant nothing [MC6, MC7, MC8, MC9]', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.constantFrom(...SCOPES, 'mcp:admin', 'mcp:posts', 'read'), fc.string())),
      (granted) => {
        expect(sortedScopes(scopesOfToken(granted))).toEqual(granted.includes('mcp:posts:write') ? BOTH : READ);
      },
    ),
  );
});

test('reading needs mcp:read, every other verb mcp:posts:write [MC10, S89]', () => {
  expect(['get', 'GET', 'post', 'put', 'patch', 'delete', 'POST'].map(scopeFor)).toEqual([
    ...READ,
    ...READ,
    ...Array(5).fill('mcp:posts:write'),
  ]);
});
