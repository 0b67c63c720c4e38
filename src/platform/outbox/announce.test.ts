import { expect, test } from '@jest/globals';
import type { Fragment, Sql } from '../db/index.ts';
import { announce, append } from './announce.ts';

/** Types only: nothing of this is run. */
export async function doesNotCompile(sql: Sql, from: Fragment, value: Fragment) {
  const entity = { orgId: 'o', entityId: 'e' };
  const told = { providerId: value, name: value };
  void announce(sql, { 'channel.disabled': { from, payload: { ...told, reason: value } } });
  // @ts-expect-error an unknown topic
  void announce(sql, { 'channel.forgotten': { from, payload: { ...told, reason: value } } });
  // @ts-expect-error a missing key
  void announce(sql, { 'channel.disabled': { from, payload: told } });
  // @ts-expect-error a key that the topic does not have
  void announce(sql, { 'channel.disabled': { from, payload: { ...told, reason: value, by: value } } });
  // @ts-expect-error a value where an expression belongs
  void announce(sql, { 'channel.disabled': { from, payload: { ...told, reason: 'plan' } } });

  const named = { providerId: 'x', name: 'Acme' } as const;
  await append(sql, [{ ...entity, topic: 'channel.disabled', payload: { ...named, reason: 'plan' } }]);
  // @ts-expect-error an unknown topic
  await append(sql, [{ ...entity, topic: 'channel.forgotten', payload: { ...named, reason: 'plan' } }]);
  // @ts-expect-error a missing key
  await append(sql, [{ ...entity, topic: 'channel.disabled', payload: { providerId: 'x', reason: 'plan' } }]);
  // @ts-expect-error a key that the topic does not have
  await append(sql, [{ ...entity, topic: 'channel.connected', payload: { ...named, reason: 'plan' } }]);
  // @ts-expect-error a reason of another topic
  await append(sql, [{ ...entity, topic: 'channel.deleted', payload: { ...named, reason: 'plan' } }]);
}

test('an announcement without facts is refused', () => {
  expect(() => announce((() => undefined) as unknown as Sql, {})).toThrow('no topic');
});
