import { z } from 'zod';
import { invalidField } from '../../src/platform/kernel/index.ts';

/** Bytes of a list in one answer: what is longer fills the context of a model. */
const LIST_BYTES = 25_000;

export const cursor = z
  .string()
  .max(200)
  .optional()
  .describe('`nextCursor` of the answer before, to get the next part of the list.');
export const nextCursor = z.string().nullable().describe('Send it as `cursor` to get the next part; null at the end.');

/** Says how many of the items fit into one answer: one at least, so that the list goes on. */
export function fitting(items: readonly unknown[]): number {
  let bytes = 0;
  const over = items.findIndex((item) => (bytes += Buffer.byteLength(JSON.stringify(item)) + 1) > LIST_BYTES);
  return over < 0 ? items.length : Math.max(over, 1);
}

export interface Part<T> {
  items: T[];
  nextCursor: string | null;
}

/** The place that a `cursor` names. */
export function placeOf(from: string | undefined, pattern = /^(\d{1,6})$/): number[] | undefined {
  if (from === undefined) return undefined;
  const found = pattern.exec(from);
  if (!found) throw invalidField('cursor', 'is not the nextCursor of an answer', 'invalid_value');
  return found.slice(1).map(Number);
}

/** A part of a list that is known whole, from the place that `cursor` names. */
export function partOf<T>(items: readonly T[], from: string | undefined): Part<T> {
  const [start = 0] = placeOf(from) ?? [];
  const rest = items.slice(start);
  const count = fitting(rest);
  return { items: rest.slice(0, count), nextCursor: count < rest.length ? String(start + count) : null };
}
