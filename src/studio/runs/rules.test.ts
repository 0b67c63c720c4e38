import { describe, expect, test } from '@jest/globals';
import type { StepState } from './contract.ts';
import { faultOfSteps, pauseMs, tracedText, unfold } from './rules.ts';

const at = (name: string, state: StepState, after: string[] = [], anyway = false) => ({ name, state, after, anyway });

describe('unfold', () => {
  test('begins what waits for nothing, and what waits for steps that are done', () => {
    expect(unfold([at('a', 'waiting'), at('b', 'waiting', ['a'])])).toEqual({ ready: ['a'], skipped: [] });
    expect(unfold([at('a', 'done'), at('b', 'waiting', ['a'])])).toEqual({ ready: ['b'], skipped: [] });
    expect(unfold([at('a', 'running'), at('b', 'waiting', ['a'])])).toEqual({ ready: [], skipped: [] });
  });

  test.each(['failed', 'timed_out', 'skipped', 'cancelled'] as const)(
    'skips all that waits for a step that is %s, in whatever order, but for what begins anyway',
    (state) => {
      const steps = [
        at('d', 'waiting', ['c'], true),
        at('c', 'waiting', ['b']),
        at('b', 'waiting', ['a', 'e']),
        at('a', state),
        at('e', 'running'),
      ];
      expect(unfold(steps)).toEqual({ ready: ['d'], skipped: ['b', 'c'] });
    },
  );
});

describe('faultOfSteps', () => {
  test('names two of one name, what is not there, and those that wait for each other', () => {
    expect(faultOfSteps([{ name: 'a' }, { name: 'b', after: ['a'] }])).toBeUndefined();
    expect(faultOfSteps([{ name: 'a' }, { name: 'a' }])).toContain('one name');
    expect(faultOfSteps([{ name: 'a', after: ['b'] }])).toBe('a waits for b, which is no step');
    expect(faultOfSteps([{ name: 'a', after: ['a'] }])).toContain('wait for each other');
    expect(faultOfSteps([{ name: 'a' }, { name: 'b', after: ['c', 'a'] }, { name: 'c', after: ['b'] }])).toBe(
      'b, c wait for each other',
    );
  });
});

test('a pause is doubled, and never shorter than what the provider asks for', () => {
  expect([pauseMs(0), pauseMs(2), pauseMs(0, 9_000)]).toEqual([1_000, 4_000, 9_000]);
});

test('a traced text has 16,000 characters at most, and no half of a sign', () => {
  expect(tracedText('a'.repeat(16_000))).toHaveLength(16_000);
  const cut = tracedText('a'.repeat(15_998) + '😀'.repeat(10));
  expect([cut.length, cut.endsWith('a…')]).toEqual([15_999, true]);
});
