import { expect, test } from '@jest/globals';
import type { ActorContract } from '../../src/platform/actor-runtime/index.ts';
import { channelActor } from '../channel/contract.ts';
import { organizationActor } from '../organization/contract.ts';
import { postActor } from '../post/contract.ts';
import { webhookActor } from '../webhook/contract.ts';
import { actorTypes } from './start.ts';

const contracts: readonly ActorContract[] = [organizationActor, channelActor, postActor, webhookActor];
const open = contracts.flatMap(({ type, methods }) =>
  Object.entries(methods).flatMap(([name, { neighbours, batched }]) =>
    neighbours ? [{ name: `${type}.${name}`, neighbours, batched }] : [],
  ),
);

test('other applications may call four methods, and none of Organization', () => {
  expect(contracts.map(({ type }) => type).toSorted()).toEqual(actorTypes.toSorted());
  expect(open.map(({ name }) => name)).toEqual(['Channel.wake', 'Post.setDate', 'Post.setStatus', 'Webhook.deliver']);
  expect(open.filter(({ batched }) => batched)).toEqual([]);
});

test('they speak for no user', () => {
  const by = { userId: 'u', schedulesFreely: true };
  const inputs: Record<string, object> = {
    'Post.setDate': { date: '2030-01-01T00:00:00Z', action: 'update' },
    'Post.setStatus': { status: 'draft' },
  };
  for (const { name, neighbours } of open) {
    const input = inputs[name] ?? {};
    expect([name, neighbours.safeParse(input).success]).toEqual([name, true]);
    expect([name, neighbours.safeParse({ ...input, by }).success]).toEqual([name, false]);
  }
});
