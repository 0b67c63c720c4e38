import { randomBytes } from 'node:crypto';

/** `CHAOS_DEPTH=full`: the rounds and sizes of the goals; else what `npm test` has time for. */
export const isFull = process.env['CHAOS_DEPTH'] === 'full';

/** The rounds of a test: `CHAOS_ROUNDS`, else as many as its depth has, or one. */
export const rounds = (full: number): { round: number; of: number }[] => {
  const of = Number(process.env['CHAOS_ROUNDS'] ?? (isFull ? full : 1));
  return Array.from({ length: of }, (_, n) => ({ round: n + 1, of }));
};

/** What a test has many of: `CHAOS_SIZE`, else as many as its depth has. */
export const sizeOf = ({ full, short }: { full: number; short: number }): number =>
  Number(process.env['CHAOS_SIZE'] ?? (isFull ? full : short));

export interface Chance {
  /** Between 0 and 1, without 1. */
  next(): number;
  /** A whole number from 0 up to `below`, without it. */
  pick(below: number): number;
}

/** Random moments that can be had again: the seed is printed, and `CHAOS_SEED` sets it. */
export function chance(what: string): Chance {
  let state = Number(process.env['CHAOS_SEED'] ?? randomBytes(4).readUInt32LE()) >>> 0;
  note({ what, CHAOS_SEED: state });
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { next, pick: (below) => Math.floor(next() * below) };
}

/** Figures are printed and judged by people, never asserted. */
export const note = (figures: object): void => void process.stderr.write(`${JSON.stringify(figures)}\n`);
