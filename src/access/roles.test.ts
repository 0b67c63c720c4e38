import { expect, test } from '@jest/globals';
import { ACTIONS, type Permission, RESOURCES } from './permissions.ts';
import { expand, isSystemRole, permissionsOf, SYSTEM_ROLES } from './roles.ts';

// Written by hand from the specification's table, in the order of its resources, so that a slip in the code is seen here.
const ROLES = {
  owner: 'M M M M M M M M M M M M M M M M M M',
  admin: 'M M M M M M M M M M M M M R M M M M',
  editor: 'M RU M R M M CRU CRU M R R R R - R R - -',
  member: 'CRU R CRU R CR CRU R R CR R R R R - R R - -',
  viewer: 'R R R R R R R R - R R R R - R R - -',
} as const;
const LETTERS: Record<string, string> = { C: 'create', R: 'read', U: 'update', D: 'delete', M: 'manage' };

test.each(SYSTEM_ROLES)('%s may do exactly what the table says, over all 90 permissions [S49, S50, S54]', (role) => {
  const cells = ROLES[role].split(' ');
  for (const [row, resource] of RESOURCES.entries())
    for (const action of ACTIONS) {
      const cell = cells[row]!;
      const may = cell === 'M' || [...cell].some((letter) => LETTERS[letter] === action);
      expect([resource, action, permissionsOf(role, false).has(`${resource}:${action}`)]).toEqual([resource, action, may]);
    }
});

test('there are 18 resources and 5 actions', () => expect([RESOURCES.length, ACTIONS.length, new Set(RESOURCES).size]).toEqual([18, 5, 18]));

test('manage implies the other four, and nothing implies manage', () => {
  expect([...expand(['posts:manage'])].toSorted()).toEqual(ACTIONS.map((action): Permission => `posts:${action}`).toSorted());
  expect(expand(['posts:create', 'posts:read', 'posts:update', 'posts:delete']).has('posts:manage')).toBe(false);
});

test('the super-admin passes every cell, an unknown role none', () => {
  expect(permissionsOf('viewer', true).size).toBe(90);
  expect(permissionsOf('toString', false).size).toBe(0);
  expect([isSystemRole('owner'), isSystemRole('constructor')]).toEqual([true, false]);
});
