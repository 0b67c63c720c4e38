import { expect, test } from '@jest/globals';
import { AppError } from '../../src/kernel/index.ts';
import type { Create } from '../../src/posts/index.ts';
import { turnOf } from '../../test/support/turn.ts';
import organization, { type OrganizationNeeds } from './actor.ts';
import { organizationActor } from './contract.ts';

test('creates that met here travel together, and each gets its own ids or its own error', async () => {
  const asked: unknown[] = [];
  const refused = new AppError('invalid_request', 'Integration not found');
  const needs = {
    posts: { admit: async (orgId: string, creates: readonly Create[]) => (asked.push([orgId, creates.length]), [undefined, refused]) },
  } as unknown as OrganizationNeeds;
  const { turn } = turnOf(organizationActor, 'o', needs);
  const create = (id: string) => ({ posts: [{ id }], createdBy: 'u' }) as unknown as Create;
  expect(await organization.spec.methods.admit([create('a'), create('b')], turn)).toEqual([{ postIds: ['a'] }, refused]);
  expect(asked).toEqual([['o', 2]]);
});
