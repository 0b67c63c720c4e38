import { expect, test } from '@jest/globals';
import {
  ACTIONS as LETTERS,
  allows,
  grantsOf as writtenGrantsOf,
  RESOURCES as WRITTEN,
  ROLES,
} from '../../../test/fixtures/permissions.ts';
import { fc } from '../../../test/support/properties.ts';
import { ACTIONS, type Permission, PERMISSIONS, RESOURCES } from './permissions.ts';
import { covers, expand, grantsOf, isSystemRole, permissionsOf, SYSTEM_ROLES } from './roles.ts';

const everything = WRITTEN.flatMap((resource) =>
  Object.values(LETTERS).map((action): Permission => `${resource}:${action}`),
);
const roles = fc.uniqueArray(fc.constantFrom(...PERMISSIONS), { maxLength: 90 });

test('there are 18 resources and 5 actions, 90 permissions [RB3, RB8, S49, S50]', () => {
  expect([RESOURCES.length, ACTIONS.length]).toEqual([18, 5]);
  expect(PERMISSIONS.toSorted()).toEqual(everything.toSorted());
});

test.each(SYSTEM_ROLES)(
  '%s may do exactly what the table says, over all 90 permissions [RB1, RB4, S49, S50, S54]',
  (role) => {
    const may = permissionsOf(role, false);
    for (const permission of everything)
      expect([permission, may.has(permission)]).toEqual([permission, allows(writtenGrantsOf(role), permission)]);
    expect(Object.keys(ROLES)).toEqual([...SYSTEM_ROLES]);
  },
);

test('a custom role has exactly what it was granted, `manage` including the other four actions [RB2, RB4, S48]', () => {
  fc.assert(
    fc.property(roles, (granted) => {
      const may = permissionsOf('01900000-0000-7000-8000-000000000000', false, granted);
      for (const permission of everything)
        expect([permission, may.has(permission)]).toEqual([permission, allows(granted, permission)]);
    }),
    { numRuns: 200 },
  );
});

test('manage implies the other four, and nothing implies manage [RB4]', () => {
  expect([...expand(['posts:manage'])].toSorted()).toEqual(
    ACTIONS.map((action): Permission => `posts:${action}`).toSorted(),
  );
  expect(expand(['posts:create', 'posts:read', 'posts:update', 'posts:delete']).has('posts:manage')).toBe(false);
});

test('the super-admin has every permission, an unknown role none, and a row does not widen a system role [RB6]', () => {
  expect(permissionsOf('viewer', true).size).toBe(90);
  expect(permissionsOf('toString', false).size).toBe(0);
  expect(permissionsOf('viewer', false, ['posts:manage']).has('posts:create')).toBe(false);
  expect([isSystemRole('owner'), isSystemRole('constructor')]).toEqual([true, false]);
});

test('one set of permissions covers another exactly when each single permission of it is held [S46]', () => {
  fc.assert(
    fc.property(roles, roles, (mine, wanted) => {
      const needed = everything.filter((permission) => allows(wanted, permission));
      expect(covers(expand(mine), wanted)).toBe(needed.every((permission) => allows(mine, permission)));
    }),
  );
  expect(SYSTEM_ROLES.map((role) => covers(permissionsOf('admin', false), grantsOf(role)))).toEqual([
    false,
    true,
    true,
    true,
    true,
  ]);
});
