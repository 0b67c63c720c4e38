import { expect, test } from '@jest/globals';
import { turnOf } from '../../test/support/worlds/turn.ts';
import webhook from './actor.ts';
import { webhookActor } from './contract.ts';

test.each([
  ['method', webhook.spec.methods.deliver],
  ['reminder', webhook.spec.reminders.deliver],
])('deliver as a %s sends beside the turn, not in it', async (kind, handler) => {
  const did: string[] = [];
  const { turn, besides } = turnOf(webhookActor, 'org:hook', {
    webhooks: { deliver: async (key: string) => void did.push(key) },
  });
  await (kind === 'method' ? webhook.spec.methods.deliver({}, turn) : webhook.spec.reminders.deliver(turn, undefined));
  expect([did, handler.length > 0]).toEqual([[], true]);
  await besides();
  expect(did).toEqual(['org:hook']);
});

test('the reminder is a nudge: rows and a scan carry its guarantee', () =>
  expect(webhook.contract.reminders.deliver.isNudge).toBe(true));
