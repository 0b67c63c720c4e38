import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ACTIONS, type Permission, RESOURCES } from './permissions.ts';
import { SYSTEM_ROLES } from './roles.ts';
import { scopeFor, SCOPES, scopesOfKey, scopesOfToken, sortedScopes } from './scopes.ts';

const READ = ['mcp:read'];
const BOTH = ['mcp:read', 'mcp:posts:write'];
const ofKey = (...input: Parameters<typeof scopesOfKey>) => sortedScopes(scopesOfKey(...input));

// By hand, from the specification.
const BY_ROLE: Record<string, string[]> = { owner: BOTH, admin: BOTH, editor: READ, member: READ, viewer: READ };

test.each(SYSTEM_ROLES)('the key of %s has the scopes of the specification, super-admin or not [MC12, MC14]', (roleKey) => {
  for (const isSuperAdmin of [false, true]) expect(ofKey({ roleKey, isSuperAdmin })).toEqual(BY_ROLE[roleKey]);
});

test('the key of a super-admin without membership is treated as the owner’s, of anybody else without one it may nothing [MC13]', () => {
  expect(ofKey({ roleKey: null, isSuperAdmin: true })).toEqual(BOTH);
  expect(ofKey({ roleKey: null, isSuperAdmin: false })).toEqual([]);
});

test('a role of the org’s own writes exactly when it may create posts', () => {
  const permissions = RESOURCES.flatMap((resource) => ACTIONS.map((action): Permission => `${resource}:${action}`));
  fc.assert(
    fc.property(fc.subarray(permissions), fc.boolean(), (granted, isSuperAdmin) => {
      const creates = granted.includes('posts:create') || granted.includes('posts:manage');
      expect(ofKey({ roleKey: 'an-id', granted, isSuperAdmin })).toEqual(creates ? BOTH : READ);
    }),
  );
});

test('allowedScopes of the org only ever takes away [MC15, S59]', () => {
  const scopes = [...SCOPES, 'mcp:admin', '', 'mcp:*', 'MCP:READ'];
  fc.assert(
    fc.property(fc.constantFrom(...SYSTEM_ROLES), fc.subarray(scopes), (roleKey, allowed) => {
      expect(ofKey({ roleKey, isSuperAdmin: false }, allowed)).toEqual(BY_ROLE[roleKey]!.filter((scope) => allowed.includes(scope)));
    }),
  );
  for (const roleKey of SYSTEM_ROLES) for (const none of [undefined, null]) expect(ofKey({ roleKey, isSuperAdmin: false }, none)).toEqual(BY_ROLE[roleKey]);
});

test('a token has what was granted and at least mcp:read; mcp:admin and unknown values give nothing [MC6, MC7, MC8, MC9]', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.constantFrom(...SCOPES, 'mcp:admin', 'mcp:posts', 'read'), fc.string())), (granted) => {
      expect(sortedScopes(scopesOfToken(granted))).toEqual(granted.includes('mcp:posts:write') ? BOTH : READ);
    }),
  );
});

test('reading needs mcp:read, every other verb mcp:posts:write [MC10, S89]', () => {
  expect(['get', 'GET', 'post', 'put', 'patch', 'delete', 'POST'].map(scopeFor)).toEqual([...READ, ...READ, ...Array(5).fill('mcp:posts:write')]);
});
