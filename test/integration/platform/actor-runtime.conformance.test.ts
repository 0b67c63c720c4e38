// oxlint-disable max-lines -- one suite for both engines, on one host of each
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Actors, placement, type Reminder } from '../../../src/platform/actor-runtime/index.ts';
import { AppError, notFound, systemClock } from '../../../src/platform/kernel/index.ts';
import { daprUnderTest } from '../../support/processes/dapr-engine.ts';
import { embeddedEngine } from '../../support/processes/embedded-harness.ts';
import type { EngineHarness, EngineUnderTest, HostSetup, RunningHost } from '../../support/processes/engine-harness.ts';
import { eventually, gate } from '../../support/wire/eventually.ts';
import { ODD_NAME, plain, plainActor, probe, probeActor, probeNeeds } from '../../support/processes/probe.ts';

const engines: readonly EngineUnderTest[] = [embeddedEngine, daprUnderTest];

const ODD_IDS = [
  'a/b',
  'a%2Fb',
  'a%b',
  '..',
  '.',
  'a?b=c',
  'a#b',
  'a\\b',
  'a b',
  ' a',
  'a||b',
  'a:b',
  'ünï',
  'u\u0308ni',
  '日本語',
  '🪺',
  '\0',
  'a\0b',
  'line\nbreak',
  '"quoted"',
  "it's",
  '{curly}',
  'null',
  '0',
  'A',
  'a',
  '__proto__',
  'constructor',
  'é'.repeat(200),
];
const soon = (ms: number) => systemClock.in(ms);
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'answered',
    (error: unknown) => (error instanceof AppError ? error.code : error),
  );

for (const engine of engines)
  (engine.missing ? describe.skip : describe)(
    `${engine.name} engine [R14]${engine.missing ? ` [skipped: ${engine.missing}]` : ''}`,
    () => {
      const { needs, on, overlapped } = probeNeeds();
      let harness: EngineHarness;
      let running: RunningHost;
      let actors: Actors;
      let ids = 0;
      const newActor = () => `actor-${++ids}`;
      const start = async (limits: HostSetup['limits'] = {}) => {
        await running?.stop();
        running = await harness.startHost({ implementations: [probeActor, plainActor], needs, limits });
        actors = running.actors;
      };
      const remind = (id: string, name: string, due: Date, more: Partial<Reminder> = {}) =>
        running.engine.remind([{ type: 'Probe', id, name, due, ...more }]);
      /**
       * Sets reminders of new actors and changes them, surely before they are due: where that took too long, again with
       * other actors.
       */
      const beforeDue = async (change: (due: Date) => Promise<void>) => {
        for (let ms = 1_000; ; ms *= 2) {
          const due = soon(ms);
          await change(due);
          if (systemClock.now() < due) return due;
        }
      };
      const dueIsOver = async (due: Date) => {
        while (systemClock.now().getTime() < due.getTime() + 300) await sleep(50);
      };
      /**
       * How many reminders wait, once none of an earlier test is about to go; undefined where the engine cannot say.
       */
      const countsWithoutOthers = async () => {
        if ((await running.engine.reminderCounts()) === undefined) return undefined;
        await eventually('the reminders of earlier tests are gone', async () => {
          await running.engine.forget({ type: 'Probe', id: 'nobody' }, 'ring'); // so that the engine counts anew
          return (await running.engine.reminderCounts())?.pending === 0;
        });
        return { pending: 0 };
      };
      /** Counts how often a reminder of an actor had a turn. */
      const count = (id: string, step: string) => {
        const heard: unknown[] = [];
        on(id, step, (_turn, data) => void heard.push(data));
        return heard;
      };
      const bump = (id: string) =>
        on(id, 'bump', (turn) => {
          turn.state.count += 1;
          turn.state.list.push('€\0');
          turn.memory.used += 1;
          return [turn.state.count, turn.memory.built, turn.memory.used];
        });
      const look = (id: string) => on(id, 'look', ({ state, memory }) => [state, memory.built]);
      const failureOf = (method: string, input: unknown) =>
        running.engine.invoke({ type: 'Probe', id: newActor() }, method, input).catch((thrown: unknown) => thrown);

      beforeAll(async () => {
        harness = await engine.open();
        await start();
      }, 120_000);
      afterAll(async () => {
        await running?.stop();
        await harness?.[Symbol.asyncDispose]();
      }, 60_000);

      describe('calls', () => {
        test('input and answer pass the contract: defaults filled, dates arrive as dates', async () => {
          const id = newActor();
          const at = new Date('2026-03-01T12:00:00.123Z');
          let seen: unknown;
          on(id, 'typed', (_turn, given) => void (seen = given));
          expect(await actors(probe, id).typed({ name: 'robin', at: at.toISOString() })).toEqual({
            length: 5,
            times: 2,
            at,
          });
          expect(seen).toEqual(at);
        });

        test('a method without an answer resolves to undefined', async () => {
          expect(await actors(probe, newActor()).hush({ step: 'none' })).toBeUndefined();
        });

        test('turns of one actor run one at a time, in the order of the calls', async () => {
          const id = newActor();
          const order: unknown[] = [];
          const calls: Promise<unknown>[] = [];
          on(id, 'slow', async (_turn, value) => {
            order.push(value);
            await sleep(5);
          });
          for (let n = 0; n < 10; n++) {
            const call = actors(probe, id).run({ step: 'slow', value: n });
            calls.push(call);
            await sleep(3);
          }
          await Promise.all(calls);
          // concurrent calls travel on connections of their own, and Dapr keeps no order between them
          if (engine.name === 'dapr') order.sort();
          expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
          expect(overlapped(id)).toBe(false);
        });

        test('turns of different actors run side by side', async () => {
          const [one, other] = [newActor(), newActor()];
          const [first, second] = [gate(), gate()];
          on(one, 'meet', () => (first.open(), second.passed));
          on(other, 'meet', () => (second.open(), first.passed));
          await Promise.all([actors(probe, one).run({ step: 'meet' }), actors(probe, other).run({ step: 'meet' })]);
        });

        test('an actor can call another actor within its turn', async () => {
          const [id, other] = [newActor(), newActor()];
          on(id, 'ask', (turn) => turn.actors(probe, other).run({ step: 'answer' }));
          on(other, 'answer', ({ id: own }) => `I am ${own}`);
          expect(await actors(probe, id).run({ step: 'ask' })).toBe(`I am ${other}`);
        });

        test('a business error arrives as the same error, with code, status, message and detail', async () => {
          const id = newActor();
          on(id, 'refuse', () => {
            throw new AppError('limit_exceeded', 'Plan limit reached: channels (3) ✋', { limit: 'channels', max: 3 });
          });
          const error = await actors(probe, id)
            .run({ step: 'refuse' })
            .catch((thrown: unknown) => thrown);
          expect(error).toBeInstanceOf(AppError);
          expect(error).toMatchObject({
            code: 'limit_exceeded',
            status: 402,
            message: 'Plan limit reached: channels (3) ✋',
            extra: { limit: 'channels', max: 3 },
          });
        });

        test('an unknown error arrives as `internal` without its message, whatever was thrown', async () => {
          const id = newActor();
          for (const thrown of [new TypeError('the secret is 42'), 'text', undefined, { code: 'not_found' }]) {
            on(id, 'break', () => {
              throw thrown;
            });
            const error = await actors(probe, id)
              .run({ step: 'break' })
              .catch((caught: unknown) => caught);
            expect(error).toMatchObject({ code: 'internal', status: 500 });
            expect(JSON.stringify(error)).not.toContain('42');
          }
        });

        test('an unknown actor type answers not_found', async () => {
          expect(await codeOf(running.engine.invoke({ type: 'Nobody', id: 'x' }, 'run', {}))).toBe('not_found');
        });

        test('an unknown method answers not_found, also one that every object inherits', async () => {
          for (const name of ['fly', 'constructor', 'toString', '__proto__', 'hasOwnProperty'])
            expect(await codeOf(running.engine.invoke({ type: 'Probe', id: 'x' }, name, {}))).toBe('not_found');
        });

        test('invalid input is refused with every field named, and no turn runs', async () => {
          const id = newActor();
          const error = await actors(probe, id)
            .typed({ name: '', times: 10, at: 'no date' })
            .catch((thrown: unknown) => thrown);
          expect(error).toMatchObject({
            code: 'validation_failed',
            status: 400,
            extra: { errors: [{ field: 'name' }, { field: 'times' }, { field: 'at' }] },
          });
          expect(needs.spans.some((span) => span.id === id)).toBe(false);
        });

        test('an unknown field is refused by name, a missing one as required', async () => {
          expect(await failureOf('typed', { name: 'x', at: '2026-01-01', colour: 'red' })).toMatchObject({
            code: 'unknown_field',
            extra: { errors: [{ field: 'colour', rule: 'unknown' }] },
          });
          expect(await failureOf('typed', { at: '2026-01-01' })).toMatchObject({
            code: 'validation_failed',
            extra: { errors: [{ field: 'name', rule: 'required' }] },
          });
        });

        test('an answer that violates the contract is `internal`', async () => {
          expect(await codeOf(actors(probe, newActor()).wrong({}))).toBe('internal');
        });

        test('awaiting a caller object by mistake sends no call', async () => {
          const caller = actors(probe, newActor());
          expect(Object.keys(await (caller as unknown as Promise<object>)).toSorted()).toEqual([
            'hush',
            'run',
            'sum',
            'typed',
            'wrong',
          ]);
        });

        test('ids with any character of UTF-8 name distinct actors', async () => {
          for (const id of ODD_IDS) on(id, 'who', (turn) => turn.id);
          expect(await Promise.all(ODD_IDS.map((id) => actors(probe, id).run({ step: 'who' })))).toEqual(ODD_IDS);
          const counts = await Promise.all(ODD_IDS.map((id) => actors(plain, id).count({})));
          expect(counts).toEqual(ODD_IDS.map(() => 1));
        });

        test('an id that is empty, too long or half a character is refused', async () => {
          for (const id of ['', 'x'.repeat(2_000), '\ud800'])
            expect(await codeOf(running.engine.invoke({ type: 'Probe', id }, 'hush', { step: 'x' }))).toBe(
              'validation_failed',
            );
        });

        test('an input of one megabyte arrives whole', async () => {
          expect(await actors(probe, newActor()).typed({ name: 'ä'.repeat(500_000), at: new Date() })).toMatchObject({
            length: 500_000,
          });
        });

        test('a caller that disconnects while it waits never makes two turns of one actor overlap [R7]', async () => {
          const id = newActor();
          const hold = gate();
          const ran = count(id, 'second');
          let begun = false;
          on(id, 'first', () => ((begun = true), hold.passed));
          const first = actors(probe, id).run({ step: 'first' });
          await eventually('the first is at work', () => begun);
          await harness.abandon(running, { type: 'Probe', id }, 'run', { step: 'second' });
          const third = actors(probe, id).run({ step: 'third' });
          await sleep(100);
          expect(needs.spans.filter((span) => span.id === id)).toEqual([]);
          hold.open();
          await Promise.all([first, third]);
          expect(overlapped(id)).toBe(false);
          expect(ran.length).toBeLessThanOrEqual(1);
        });

        test('a repeated command has one effect and one answer, also when it fails', async () => {
          const id = newActor();
          let effects = 0;
          on(id, 'once', async () => {
            await sleep(20);
            return ++effects;
          });
          const send = (step: string, command: string) =>
            running.host.call({ type: 'Probe', id }, 'run', { step }, command);
          expect(await Promise.all([send('once', 'c1'), send('once', 'c1'), send('once', 'c2')])).toEqual([1, 1, 2]);
          expect(await send('once', 'c1')).toBe(1);
          on(id, 'fails', () => {
            effects += 1;
            throw notFound();
          });
          for (let n = 0; n < 3; n++) expect(await codeOf(send('fails', 'c3'))).toBe('not_found');
          expect(effects).toBe(3);
        });
      });

      describe('batches', () => {
        test('concurrent calls of one actor share turns of at most `max`, and each caller gets its own answer', async () => {
          const id = newActor();
          const answers = await Promise.all(Array.from({ length: 95 }, (_, n) => actors(probe, id).sum({ n })));
          expect(answers.map(({ n }) => n)).toEqual(Array.from({ length: 95 }, (_, n) => n));
          expect(Math.max(...answers.map(({ size }) => size))).toBe(10);
          expect(Math.max(...answers.map(({ turn }) => turn))).toBe(10);
        });

        test('inputs keep the order of their calls', async () => {
          const id = newActor();
          const order: number[] = [];
          on(id, 'sum', (_turn, inputs) => void order.push(...(inputs as { n: number }[]).map(({ n }) => n)));
          await Promise.all(Array.from({ length: 40 }, (_, n) => actors(probe, id).sum({ n })));
          expect(order).toEqual(Array.from({ length: 40 }, (_, n) => n));
        });

        test('an input that violates the contract fails alone, with its field named', async () => {
          const id = newActor();
          const [good, bad, also] = await Promise.allSettled([
            actors(probe, id).sum({ n: 1 }),
            actors(probe, id).sum({ n: 'two' as unknown as number }),
            actors(probe, id).sum({ n: 3 }),
          ]);
          expect(good).toMatchObject({ status: 'fulfilled', value: { n: 1 } });
          expect(bad).toMatchObject({
            status: 'rejected',
            reason: { code: 'validation_failed', extra: { errors: [{ field: 'n' }] } },
          });
          expect(also).toMatchObject({ status: 'fulfilled', value: { n: 3 } });
        });

        test('an input that the actor refuses fails alone', async () => {
          const id = newActor();
          on(id, 'sum', (_turn, inputs) =>
            (inputs as { n: number }[]).map(({ n }, place) =>
              n === 2 ? notFound('Not this one') : { n, place, size: 3, turn: 1 },
            ),
          );
          const [first, second, third] = await Promise.allSettled([1, 2, 3].map((n) => actors(probe, id).sum({ n })));
          expect([first!.status, third!.status]).toEqual(['fulfilled', 'fulfilled']);
          expect(second).toMatchObject({ status: 'rejected', reason: { code: 'not_found', message: 'Not this one' } });
        });

        test('a failed turn rejects every caller of the batch', async () => {
          const id = newActor();
          on(id, 'sum', () => {
            throw new AppError('conflict', 'Not now');
          });
          expect(await Promise.all([1, 2, 3].map((n) => codeOf(actors(probe, id).sum({ n }))))).toEqual([
            'conflict',
            'conflict',
            'conflict',
          ]);
        });

        test('callers without an answer of their own get `internal`, the others their answer', async () => {
          const id = newActor();
          on(id, 'sum', () => [{ n: 1, place: 0, size: 3, turn: 1 }]);
          expect(await Promise.all([1, 2, 3].map((n) => codeOf(actors(probe, id).sum({ n }))))).toEqual([
            'answered',
            'internal',
            'internal',
          ]);
        });

        test('a list that exceeds the contract is refused whole', async () => {
          const to = { type: 'Probe', id: newActor() };
          expect(
            await codeOf(
              running.engine.invoke(
                to,
                'sum',
                Array.from({ length: 11 }, (_, n) => ({ n })),
              ),
            ),
          ).toBe('validation_failed');
          expect(await codeOf(running.engine.invoke(to, 'sum', []))).toBe('validation_failed');
          expect(await codeOf(running.engine.invoke(to, 'sum', { n: 1 }))).toBe('validation_failed');
        });

        test('1,000 callers of one actor at once are all answered', async () => {
          const id = newActor();
          const answers = await Promise.all(Array.from({ length: 1_000 }, (_, n) => actors(probe, id).sum({ n })));
          expect(answers.map(({ n }) => n)).toEqual(Array.from({ length: 1_000 }, (_, n) => n));
          expect(overlapped(id)).toBe(false);
        });
      });

      describe('reminders', () => {
        test('a reminder fires once, with its data, and not before it is due', async () => {
          const id = newActor();
          const due = soon(400);
          const data = { text: 'naïve 🪺 \0 "quoted"', list: [1, null, { deep: true }], none: null };
          let firedAt = 0;
          const heard: unknown[] = [];
          on(id, 'ring', (_turn, given) => void (heard.push(given), (firedAt ||= systemClock.now().getTime())));
          await remind(id, 'ring', due, { data });
          await eventually('the reminder fires', () => heard.length > 0);
          expect(firedAt).toBeGreaterThanOrEqual(due.getTime());
          await sleep(harness.retryMs * 4);
          expect(heard).toEqual([data]);
        });

        test('a reminder without data arrives without data', async () => {
          const id = newActor();
          const heard = count(id, 'ring');
          await remind(id, 'ring', soon(0));
          await eventually('the reminder fires', () => heard.length > 0);
          expect(heard).toEqual([undefined]);
        });

        test('a reminder in the past fires at once', async () => {
          const id = newActor();
          const heard = count(id, 'ring');
          await remind(id, 'ring', new Date('2001-01-01'));
          await eventually('the reminder fires', () => heard.length > 0);
        });

        test('a reminder a year ahead waits, and can be forgotten or moved to now', async () => {
          const [id, other] = [newActor(), newActor()];
          const [heard, forgotten] = [count(id, 'ring'), count(other, 'ring')];
          const before = await countsWithoutOthers();
          await remind(id, 'ring', soon(365 * 86_400_000));
          await remind(other, 'ring', soon(365 * 86_400_000));
          if (before) expect((await running.engine.reminderCounts())!.pending).toBe(before.pending + 2);
          await running.engine.forget({ type: 'Probe', id: other }, 'ring');
          await sleep(200);
          expect([heard, forgotten]).toEqual([[], []]);
          await remind(id, 'ring', soon(0));
          await eventually('the moved reminder fires', () => heard.length > 0);
          if (before)
            await eventually(
              'its row is gone',
              async () => (await running.engine.reminderCounts())!.pending === before.pending,
            );
          expect(forgotten).toEqual([]);
        });

        test('registering a reminder again under its name moves it, earlier and later', async () => {
          const sooner = newActor();
          const early = count(sooner, 'ring');
          await remind(sooner, 'ring', soon(3_600_000), { data: 1 });
          await remind(sooner, 'ring', soon(100), { data: 2 });
          const laters: string[] = [];
          let late: unknown[] = [];
          const due = await beforeDue(async (first) => {
            const later = newActor();
            laters.push(later);
            late = count(later, 'ring');
            await remind(later, 'ring', first, { data: 1 });
            await remind(later, 'ring', soon(3_600_000), { data: 2 });
          });
          await eventually('the moved one fires', () => early.length > 0);
          await dueIsOver(due);
          expect([early, late]).toEqual([[2], []]);
          for (const later of laters) await running.engine.forget({ type: 'Probe', id: later }, 'ring');
        });

        test('a forgotten reminder does not fire, and forgetting an unknown one is no error', async () => {
          let heard: unknown[] = [];
          const due = await beforeDue(async (first) => {
            const id = newActor();
            heard = count(id, 'ring');
            await remind(id, 'ring', first);
            await running.engine.forget({ type: 'Probe', id }, 'ring');
            await running.engine.forget({ type: 'Probe', id }, 'ring');
          });
          await dueIsOver(due);
          expect(heard).toEqual([]);
        });

        test('a reminder registered again inside its own callback fires again', async () => {
          const id = newActor();
          let fired = 0;
          on(id, 'ring', async (turn) => {
            if (++fired < 4) await turn.remind('ring', soon(50));
          });
          await remind(id, 'ring', soon(0));
          await eventually('it has fired four times', () => fired === 4);
          await sleep(harness.retryMs * 4);
          expect(fired).toBe(4);
        });

        test('a reminder that its callback forgets does not fire again', async () => {
          const id = newActor();
          let fired = 0;
          on(id, 'ring', async (turn) => {
            fired += 1;
            await turn.forget('ring');
          });
          await remind(id, 'ring', soon(0));
          await eventually('it fires', () => fired > 0);
          await sleep(harness.retryMs * 4);
          expect(fired).toBe(1);
        });

        test('a default reminder whose callback fails 20 times is repeated with its data until it succeeds, and then no more [R6]', async () => {
          const id = newActor();
          const heard: unknown[] = [];
          on(id, 'ring', (_turn, data) => {
            heard.push(data);
            if (heard.length <= 20) throw heard.length % 2 ? new Error('not yet') : new AppError('conflict', 'not yet');
          });
          await remind(id, 'ring', soon(0), { data: 'keep' });
          await eventually('it succeeds', () => heard.length === 21, 50_000);
          await sleep(harness.retryMs * 4);
          expect(heard).toEqual(Array.from({ length: 21 }, () => 'keep'));
        });

        test('a nudge is acknowledged before its work, and is not repeated when the work fails', async () => {
          const id = newActor();
          const hold = gate();
          let fired = 0;
          on(id, 'poke', async () => {
            fired += 1;
            await hold.passed;
            throw new Error('its row and the scan bring it back');
          });
          const counters = running.host.counters.failedTurns;
          const before = await countsWithoutOthers();
          await remind(id, 'poke', soon(0));
          await eventually('the nudge is at work', () => fired === 1);
          if (before)
            await eventually(
              'it counts as done',
              async () => (await running.engine.reminderCounts())!.pending <= before.pending,
            );
          hold.open();
          await eventually('its turn failed', () => running.host.counters.failedTurns > counters);
          await sleep(harness.retryMs * 4);
          expect(fired).toBe(1);
        });

        test('a nudge registered again inside its own turn fires again', async () => {
          const id = newActor();
          let fired = 0;
          on(id, 'poke', async (turn) => {
            if (++fired < 3) await turn.remind('poke', soon(20));
          });
          await remind(id, 'poke', soon(0));
          await eventually('it has fired three times', () => fired === 3);
        });

        test('reminders with any character in name and id fire', async () => {
          const heard = ODD_IDS.map((id) => count(`odd ${id}`, 'odd'));
          await Promise.all(ODD_IDS.map((id) => remind(`odd ${id}`, ODD_NAME, soon(0), { data: id })));
          await eventually('all of them fired', () => heard.every(({ length }) => length > 0));
          expect(heard).toEqual(ODD_IDS.map((id) => [id]));
        });

        test('two reminder names of one actor are two reminders', async () => {
          const id = newActor();
          const [ring, bell] = [count(id, 'ring'), count(id, 'bell')];
          await running.engine.remind([
            { type: 'Probe', id, name: 'ring', due: soon(0) },
            { type: 'Probe', id, name: 'bell', due: soon(0) },
          ]);
          await eventually('both fire', () => ring.length === 1 && bell.length === 1);
        });

        test('a reminder never overlaps a call of its actor', async () => {
          const id = newActor();
          for (const step of ['ring', 'bell', 'poke', 'call']) on(id, step, () => sleep(30));
          await running.engine.remind(
            ['ring', 'bell', 'poke'].map((name) => ({ type: 'Probe', id, name, due: soon(0) })),
          );
          await Promise.all(Array.from({ length: 5 }, () => actors(probe, id).run({ step: 'call' })));
          await eventually('all had their turn', () => needs.spans.filter((span) => span.id === id).length >= 8);
          expect(overlapped(id)).toBe(false);
        });

        test('an actor can remind another actor, in its turn and beside it', async () => {
          const [id, inTurn, beside] = [newActor(), newActor(), newActor()];
          const [first, second] = [count(inTurn, 'ring'), count(beside, 'ring')];
          on(id, 'send', async (turn) => {
            await turn.remindOther(probe, inTurn, 'ring', soon(0), { owner: 'o', data: 1 });
            turn.beside(() => turn.remindOther(probe, beside, 'ring', soon(0), { data: 2 }));
          });
          await actors(probe, id).run({ step: 'send' });
          await eventually('both fire', () => first.length === 1 && second.length === 1);
          expect([first, second]).toEqual([[1], [2]]);
        });

        test('reminders of a transaction fire after its commit, and never after a rollback', async () => {
          const [kept, lost] = [newActor(), newActor()];
          const [heard, unheard] = [count(kept, 'ring'), count(lost, 'ring')];
          const committed = await harness.sql.begin(async (transaction) => {
            const after = await running.engine.remindWithin(transaction, [
              { type: 'Probe', id: kept, name: 'ring', due: soon(0), data: 7, owner: 'o' },
            ]);
            await sleep(200);
            expect(heard).toEqual([]);
            return { after };
          });
          committed.after();
          await eventually('it fires', () => heard.length > 0);
          await harness.sql
            .begin(async (transaction) => {
              await running.engine.remindWithin(transaction, [{ type: 'Probe', id: lost, name: 'ring', due: soon(0) }]);
              throw new Error('rolled back');
            })
            .catch(() => {});
          await sleep(500);
          expect([heard, unheard]).toEqual([[7], []]);
        });

        test('an empty name, an empty id and an invalid date are refused', async () => {
          expect(await codeOf(remind('x', '', soon(0)))).toBe('validation_failed');
          expect(await codeOf(remind('', 'ring', soon(0)))).toBe('validation_failed');
          expect(await codeOf(remind('x', 'ring', new Date(NaN)))).toBe('validation_failed');
        });

        test('10,000 reminders due in one second all fire, and calls are answered meanwhile', async () => {
          const total = 10_000;
          const heard = new Set<unknown>();
          for (let n = 0; n < 1_000; n++) on(`many-${n}`, 'poke', (turn) => void heard.add(turn.id));
          for (let n = 1_000; n < total; n++)
            on(`many-${n}`, n % 2 ? 'ring' : 'poke', (turn) => void heard.add(turn.id));
          const due = soon(harness.setMs); // after the last of them is set, whatever an engine takes for that
          const list = Array.from({ length: total }, (_, n): Reminder => ({
            type: 'Probe',
            id: `many-${n}`,
            name: n < 1_000 || n % 2 === 0 ? 'poke' : 'ring',
            due: new Date(due.getTime() + (n % 1_000)),
            owner: `org-${n % 50}`,
          }));
          for (let n = 0; n < total; n += 500) await running.engine.remind(list.slice(n, n + 500));
          let healthy = 0;
          let progress = { size: 0, at: due.getTime() };
          // as long as some still come: a busy machine takes minutes
          while (heard.size < total && systemClock.now().getTime() < progress.at + 60_000) {
            await actors(plain, 'health').count({});
            healthy += 1;
            await sleep(20);
            if (heard.size > progress.size)
              progress = { size: heard.size, at: Math.max(due.getTime(), systemClock.now().getTime()) };
          }
          expect(heard.size).toBe(total);
          expect(healthy).toBeGreaterThan(0);
          const tookMs = systemClock.now().getTime() - due.getTime();
          expect(running.engine.heartbeatAgeMs()).toBeLessThan(Math.max(4_000, tookMs)); // it sent heartbeats meanwhile
        }, 900_000);
      });

      describe('state and memory', () => {
        test('the document survives turns and deactivation; memory is rebuilt', async () => {
          const id = newActor();
          bump(id);
          look(id);
          expect(await actors(probe, id).run({ step: 'bump' })).toEqual([1, 1, 1]);
          expect(await actors(probe, id).run({ step: 'bump' })).toEqual([2, 1, 2]);
          expect(await running.host.deactivate({ type: 'Probe', id })).toBe(true);
          expect(await actors(probe, id).run({ step: 'look' })).toEqual([{ count: 2, list: ['€\0', '€\0'] }, 2]);
        });

        test('a turn that throws leaves the document unchanged, and memory is rebuilt', async () => {
          const id = newActor();
          bump(id);
          look(id);
          await actors(probe, id).run({ step: 'bump' });
          on(id, 'spoil', (turn) => {
            turn.state.count = 99;
            turn.state.list.push('spoiled');
            throw new AppError('conflict', 'no');
          });
          expect(await codeOf(actors(probe, id).run({ step: 'spoil' }))).toBe('conflict');
          expect(await actors(probe, id).run({ step: 'look' })).toEqual([{ count: 1, list: ['€\0'] }, 2]);
        });

        test('a document replaced as a whole is kept', async () => {
          const id = newActor();
          look(id);
          on(id, 'replace', (turn) => void (turn.state = { count: 5, list: ['new'] }));
          await actors(probe, id).run({ step: 'replace' });
          await running.host.deactivate({ type: 'Probe', id });
          expect(await actors(probe, id).run({ step: 'look' })).toEqual([{ count: 5, list: ['new'] }, 2]);
        });

        test('a document is written only when it changes', async () => {
          const id = newActor();
          bump(id);
          look(id);
          const before = running.host.counters.stateWrites;
          await actors(probe, id).run({ step: 'look' });
          await actors(probe, id).run({ step: 'bump' });
          await actors(probe, id).run({ step: 'look' });
          expect(running.host.counters.stateWrites - before).toBe(1);
        });

        test('ids with any character have distinct documents', async () => {
          const odd = ODD_IDS.map((id) => `state ${id}`);
          for (const id of odd) {
            on(id, 'note', (turn) => void turn.state.list.push(turn.id));
            look(id);
          }
          await Promise.all(odd.map((id) => actors(probe, id).run({ step: 'note' })));
          await Promise.all(odd.map((id) => running.host.deactivate({ type: 'Probe', id })));
          expect(await Promise.all(odd.map((id) => actors(probe, id).run({ step: 'look' })))).toEqual(
            odd.map((id) => [{ count: 0, list: [id] }, 2]),
          );
        });
      });

      describe('work beside a turn', () => {
        test('work beside a turn starts after a successful turn, does not block the actor, and reports in a new turn', async () => {
          const id = newActor();
          const steps: string[] = [];
          const hold = gate();
          on(id, 'start', (turn) => {
            turn.beside(async (self) => {
              steps.push('beside');
              await hold.passed;
              await self.run({ step: 'report' });
            });
            steps.push('turn');
          });
          on(id, 'report', () => void steps.push('report'));
          on(id, 'between', () => void steps.push('between'));
          await actors(probe, id).run({ step: 'start' });
          await actors(probe, id).run({ step: 'between' });
          hold.open();
          await eventually('it reported', () => steps.length === 4);
          expect(steps).toEqual(['turn', 'beside', 'between', 'report']);
        });

        test('work beside a turn does not start after a failed turn, and its own failure leaves the actor usable', async () => {
          const id = newActor();
          let started = 0;
          on(id, 'fail', (turn) => {
            turn.beside(async () => void (started += 1));
            throw new Error('no');
          });
          on(id, 'loose', (turn) =>
            turn.beside(async () => {
              throw new Error('beside');
            }),
          );
          expect(await codeOf(actors(probe, id).run({ step: 'fail' }))).toBe('internal');
          await actors(probe, id).run({ step: 'loose' });
          await sleep(50);
          expect(started).toBe(0);
          expect(await actors(plain, id).count({})).toBe(1);
        });
      });

      describe('deactivation and placement', () => {
        test('deactivation waits for the running turn and overlaps none', async () => {
          const id = newActor();
          const hold = gate();
          on(id, 'long', () => hold.passed);
          on(id, 'next', ({ memory }) => memory.built);
          const long = actors(probe, id).run({ step: 'long' });
          await eventually('the turn runs', () => running.host.activations()['Probe']! > 0 && needs.built.has(id));
          await sleep(20);
          let gone = false;
          const deactivated = running.host.deactivate({ type: 'Probe', id }).then((was) => ((gone = true), was));
          await sleep(50);
          expect(gone).toBe(false);
          hold.open();
          await long;
          expect(await deactivated).toBe(true);
          expect(await actors(probe, id).run({ step: 'next' })).toBe(2);
          expect(await running.host.deactivate({ type: 'Probe', id: newActor() })).toBe(false);
        });

        test(`${engine.many} actors are active at once, each with its own memory, and the heartbeat reports their number`, async () => {
          const before = running.host.activations()['Plain']!;
          const all = Array.from({ length: engine.many }, (_, n) => `plain-${n}`);
          for (const round of [1, 2])
            for (let n = 0; n < all.length; n += 200)
              expect(await Promise.all(all.slice(n, n + 200).map((id) => actors(plain, id).count({})))).toEqual(
                Array.from({ length: 200 }, () => round),
              );
          expect(running.host.activations()['Plain']).toBe(before + engine.many);
          await eventually('the heartbeat says it', async () =>
            (await placement(harness.sql)).some(
              ({ engine: name, actors: active }) => name === engine.name && active['Plain'] === before + engine.many,
            ),
          );
        }, 240_000);
      });

      describe('stop and start', () => {
        test('reminders that come due while no host runs fire after the start, and documents are kept', async () => {
          const [id, other] = [newActor(), newActor()];
          on(id, 'write', (turn) => void (turn.state.count = 7));
          on(id, 'read', ({ state }) => state.count);
          await actors(probe, id).run({ step: 'write' });
          const [ring, poke] = [count(id, 'ring'), count(other, 'poke')];
          const due = soon(1_000);
          await remind(id, 'ring', due, { data: 'over night' });
          await remind(other, 'poke', due);
          await running.stop();
          await dueIsOver(due);
          await start();
          await eventually('both fire', () => ring.length > 0 && poke.length > 0);
          expect(ring).toEqual(['over night']);
          expect(await actors(probe, id).run({ step: 'read' })).toBe(7);
        }, 60_000);

        test('drain finishes turns and background work, refuses new turns with `draining`, and removes the host from the list', async () => {
          const [id, other] = [newActor(), newActor()];
          const [turnHeld, workHeld] = [gate(), gate()];
          const ended: string[] = [];
          on(id, 'long', async () => {
            await turnHeld.passed;
            ended.push('turn');
          });
          on(other, 'work', (turn) =>
            turn.beside(async () => {
              await workHeld.passed;
              ended.push('beside');
            }),
          );
          await actors(probe, other).run({ step: 'work' });
          const long = actors(probe, id).run({ step: 'long' });
          await eventually('the turn runs', () => needs.built.has(id));
          await sleep(20);
          const { host, engine: leaving } = running;
          const stopped = running.stop().then(() => ended.push('stopped'));
          await eventually(
            'new turns are refused',
            async () => (await codeOf(host.call({ type: 'Plain', id: newActor() }, 'count', {}))) === 'draining',
          );
          await expect(host.fire({ type: 'Probe', id: other }, 'ring', undefined)).rejects.toMatchObject({
            code: 'draining',
          });
          expect((await placement(harness.sql)).length).toBe(1);
          turnHeld.open();
          await long;
          workHeld.open();
          await stopped;
          expect(ended).toEqual(['turn', 'beside', 'stopped']);
          expect(await placement(harness.sql)).toEqual([]);
          expect(leaving.heartbeatAgeMs()).toBe(Infinity);
          await start();
        }, 60_000);

        test('a nudge acknowledged but not run before the drain runs on the next host', async () => {
          await start({ nudgesAtWork: 1 });
          const [first, waiting] = [newActor(), newActor()];
          const hold = gate();
          on(first, 'poke', () => hold.passed);
          const heard = count(waiting, 'poke');
          await remind(first, 'poke', soon(0));
          await eventually('the first is at work', () => needs.built.has(first));
          await remind(waiting, 'poke', soon(0), { data: 'kept' });
          await eventually('both were taken', () => running.host.counters.nudges >= 2);
          const stopped = running.stop();
          hold.open();
          await stopped;
          expect(heard).toEqual([]);
          await start();
          await eventually('it has its turn', () => heard.length > 0);
          expect(heard).toEqual(['kept']);
        }, 60_000);

        test('a full mailbox answers `busy` with a delay, and accepts calls again afterwards', async () => {
          await start({ mailbox: 5 });
          const id = newActor();
          const hold = gate();
          on(id, 'long', () => hold.passed);
          const call = (step: string) => running.host.call({ type: 'Probe', id }, 'run', { step });
          const calls = [call('long'), ...Array.from({ length: 5 }, () => call('short'))];
          const error = await call('short').catch((thrown: unknown) => thrown);
          expect(error).toMatchObject({ code: 'busy', status: 503, extra: { retryAfterMs: expect.any(Number) } });
          expect(running.host.mailboxes()['Probe']).toEqual({ queued: 5, longest: 5 });
          hold.open();
          await Promise.all(calls);
          await call('short');
          expect(running.host.counters.refusedBusy).toBe(1);
        }, 60_000);

        test('nudges beyond the bound are repeated until each had its turn', async () => {
          await start({ nudgesAtWork: 1, nudgesWaiting: 2 });
          const many = Array.from({ length: 12 }, newActor);
          const heard = many.map((id) => count(id, 'poke'));
          for (const id of many) on(id, 'poke', (turn) => (heard[many.indexOf(turn.id)]!.push(1), sleep(10)));
          await running.engine.remind(many.map((id) => ({ type: 'Probe', id, name: 'poke', due: soon(0) })));
          await eventually('each had its turn', () => heard.every(({ length }) => length > 0));
        }, 60_000);

        test('an idle actor is deactivated, and answers again', async () => {
          await start({ idleMs: 200 });
          const id = newActor();
          // together: between them there is no time without a turn
          const both = [1, 2].map(() => running.host.call({ type: 'Plain', id }, 'count', {}));
          expect(await Promise.all(both)).toEqual([1, 2]);
          await eventually('it is deactivated', () => running.host.activations()['Plain'] === 0);
          expect(await actors(plain, id).count({})).toBe(1);
        }, 60_000);

        test('an outage of the store loses no reminder, and all functions resume afterwards', async () => {
          await start();
          const list = Array.from({ length: 60 }, newActor);
          // a nudge may be lost with the store: its row and the scan bring it back
          const heard = list.map((id) => count(id, 'ring'));
          await running.engine.remind(
            list.map((id, n) => ({ type: 'Probe', id, name: 'ring', due: soon(200 + n * 40) })),
          );
          await harness.outage(1_500);
          // one that Dapr forgot is found after 25 s
          await eventually('every reminder fired', () => heard.every(({ length }) => length > 0), 90_000);
          const id = newActor();
          const late = count(id, 'ring');
          await eventually(
            'reminders can be registered again',
            async () => (await codeOf(remind(id, 'ring', soon(100)))) === 'answered',
          );
          await eventually('a new one fires', () => late.length > 0);
          on(id, 'write', (turn) => void (turn.state.count += 1));
          await actors(probe, id).run({ step: 'write' });
          await eventually('the heartbeat goes on', () => running.engine.heartbeatAgeMs() < 2_000);
        }, 180_000);
      });
    },
  );
