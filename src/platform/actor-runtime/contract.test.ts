import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { actorContract, method, nudge, reminder, reminderOf } from './contract.ts';
import { implementFor, type Turn } from './implement.ts';

const methods = { run: method({ input: z.strictObject({}) }) };
const contract = actorContract('Thing', { methods, reminders: { ring: reminder, poke: nudge } });
const silent = actorContract('Silent', { methods });
const due = new Date(0);

/** Types only: nothing of this is run. */
export async function doesNotCompile(
  turn: Turn<typeof contract, unknown, undefined, unknown>,
  quiet: Turn<typeof silent, unknown, undefined, unknown>,
) {
  await turn.remind('ring', due);
  await turn.forget('poke');
  await quiet.remindOther(contract, 'id', 'poke', due);
  // @ts-expect-error an unknown reminder
  await turn.remind('sing', due);
  // @ts-expect-error an unknown reminder
  await turn.forget('sing');
  // @ts-expect-error an unknown reminder of another actor
  await quiet.remindOther(contract, 'id', 'sing', due);
  // @ts-expect-error another actor without reminders
  await turn.remindOther(silent, 'id', 'ring', due);
  // @ts-expect-error an actor without reminders
  await quiet.remind('ring', due);
  // @ts-expect-error an unknown reminder
  reminderOf(contract, 'id', 'sing', due);

  const run = async () => undefined;
  const state = z.object({});
  implementFor()(contract, { state, methods: { run }, reminders: { ring: run, poke: run } });
  // @ts-expect-error a reminder without a handler
  implementFor()(contract, { state, methods: { run }, reminders: { ring: run } });
  // @ts-expect-error a handler without a reminder
  implementFor()(contract, { state, methods: { run }, reminders: { ring: run, poke: run, sing: run } });
}

test('a reminder carries the type of its contract', () =>
  expect(reminderOf(contract, 'id', 'ring', due, { owner: 'org' })).toEqual({
    type: 'Thing',
    id: 'id',
    name: 'ring',
    due,
    owner: 'org',
  }));
