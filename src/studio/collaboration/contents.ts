import { htmlOf, readBlocks, storable } from './blocks.ts';

/** What a document holds, in the form of what it stands for: a post has all of it but a plan, other things a part. */
export interface Contents {
  /** HTML of the content module. */
  content: string;
  settings: Readonly<Record<string, unknown>>;
  media: readonly unknown[];
  /** The words of the plan of a designer session. */
  plan?: Readonly<Record<string, unknown>>;
}

/** Values inside one another; deeper ones are left out. */
const MOST_DEPTH = 30;

/** A value as JSON can hold and the database can keep; undefined for none. */
export function plainJson(value: unknown, depth = 0): unknown {
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value === 'string') return storable(value);
  if (typeof value !== 'object' || depth > MOST_DEPTH || value instanceof Uint8Array) return undefined;
  if (Array.isArray(value)) return value.map((one) => plainJson(one, depth + 1) ?? null);
  const entries = Object.entries(value).flatMap(([key, one]) => {
    const kept = plainJson(one, depth + 1);
    return kept === undefined ? [] : [[storable(key), kept] as const];
  });
  return Object.fromEntries(entries);
}

/** The same text for the same value, whatever the order of its keys. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
}

/** The form that a document writes a content in: what is compared with it. */
export const asWritten = ({ content, settings, media, plan }: Contents): Contents => ({
  content: htmlOf(readBlocks(content)),
  settings: plainJson(settings) as Record<string, unknown>, // of an object it is one
  media: plainJson(media) as unknown[], // and of an array one
  ...(plan && { plan: plainJson(plan) as Record<string, unknown> }),
});
