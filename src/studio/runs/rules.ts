import type { StepRow, StepState } from './contract.ts';

/** A step is tried so often where what failed is neither its own nor its provider's doing. */
export const MOST_CLAIMS = 3;
/** An answer that was lost may have been paid for; it is asked for once more. */
export const MOST_LOST = 1;
/** Pauses that a provider asks for are kept so often. */
export const MOST_PAUSES = 3;
/** Characters of what was asked and answered that a trace keeps of each. */
const MOST_TRACED = 16_000;
/** A job that was given up is looked at so often, for what it makes late. */
export const LATE_LOOK_MS = 10_000;

const OPEN_STATES: readonly StepState[] = ['waiting', 'running'];
export const isOpen = ({ state }: Pick<StepRow, 'state'>): boolean => OPEN_STATES.includes(state);

interface Ordered extends Pick<StepRow, 'name' | 'state'> {
  after: readonly string[];
  anyway: boolean;
}

/** What is to be done next in a round: steps that can begin, and those that never will. */
export function unfold(steps: readonly Ordered[]): { ready: string[]; skipped: string[] } {
  const states = new Map(steps.map(({ name, state }) => [name, state]));
  const skipped: string[] = [];
  const waiting = steps.filter(({ state }) => state === 'waiting');
  for (let found = true; found;) {
    found = false;
    for (const { name, after, anyway } of waiting) {
      if (states.get(name) !== 'waiting' || anyway) continue;
      if (!after.some((one) => !isOpen({ state: states.get(one)! }) && states.get(one) !== 'done')) continue;
      states.set(name, 'skipped');
      skipped.push(name);
      found = true;
    }
  }
  const ready = waiting.filter(
    ({ name, after }) => states.get(name) === 'waiting' && after.every((one) => !isOpen({ state: states.get(one)! })),
  );
  return { ready: ready.map(({ name }) => name), skipped };
}

/** Why steps cannot be a round; undefined: they can. */
export function faultOfSteps(steps: readonly { name: string; after?: readonly string[] }[]): string | undefined {
  const left = new Map(steps.map(({ name, after = [] }) => [name, after]));
  if (left.size < steps.length) return 'two steps have one name';
  for (const { name, after = [] } of steps) {
    const unknown = after.find((one) => !left.has(one));
    if (unknown !== undefined) return `${name} waits for ${unknown}, which is no step`;
  }
  for (let size = -1; size !== left.size;) {
    size = left.size;
    for (const [name, after] of left) if (!after.some((one) => left.has(one))) left.delete(name);
  }
  return left.size > 0 ? `${[...left.keys()].join(', ')} wait for each other` : undefined;
}

/** The wait before the next question: what the provider asks for, else 1 s, doubled. */
export const pauseMs = (pauses: number, askedMs = 0): number => Math.max(1_000 * 2 ** pauses, askedMs);

/** A text as a trace keeps it. */
export const tracedText = (text: string): string =>
  text.length <= MOST_TRACED ? text : `${text.slice(0, MOST_TRACED - 1).replace(/[\ud800-\udbff]$/, '')}…`;
