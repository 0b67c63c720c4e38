import { expect, test } from '@jest/globals';
import { AppError } from '../../src/platform/kernel/index.ts';
import type { Create } from '../../src/publishing/posts/index.ts';
import { turnOf } from '../../test/support/worlds/turn.ts';
import organization, { type OrganizationNeeds } from './actor.ts';
import { organizationActor } from './contract.ts';

test('creates that met here travel together, and each gets its own ids or its own error', async () => {
  const asked: unknown[] = [];
  const refused = new AppError('invalid_request', 'Integration not found');
  const needs = {
    posts: {
      admitPosts: async (orgId: string, creates: readonly Create[]) => (
        asked.push([orgId, creates.length]),
        [{}, { refused }]
      ),
    },
    billing: { enabled: false },
  } as unknown as OrganizationNeeds;
  const { turn } = turnOf(organizationActor, 'o', needs, { memory: {} });
  const create = (id: string) => ({ posts: [{ id }], createdBy: 'u' }) as unknown as Create;
  expect(await organization.spec.methods.admit([create('a'), create('b')], turn)).toEqual([
    { postIds: ['a'] },
    refused,
  ]);
  expect(asked).toEqual([['o', 2]]);
});

test('runs due transitions of an organization and sets the next reminder [BI18]', async () => {
  const transitions = [new Date('2026-03-04T00:00:00.000Z'), null];
  const done: string[] = [];
  const needs = {
    payments: {
      runTransitions: async (orgId: string) => void done.push(orgId),
      nextTransition: async () => transitions.shift() ?? null,
    },
  } as unknown as OrganizationNeeds;
  const memory = { quota: undefined };
  const { turn, log } = turnOf(organizationActor, 'o', needs, { memory });
  await organization.spec.methods.scheduleTransition({}, turn);
  expect(done).toEqual([]);
  await organization.spec.reminders['transition']!(
    turn as never,
    { name: 'transition', data: undefined, due: new Date() } as never,
  );
  expect(done).toEqual(['o']);
  expect(log).toEqual(['remind transition 2026-03-04T00:00:00.000Z', 'forget transition']);
});
