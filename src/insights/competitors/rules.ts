import { sha256 } from '../../platform/kernel/index.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** 04:30 UTC, when the channels of organizations have been read; organizations share the hour that follows. */
const BEGINS_MS = 4.5 * HOUR_MS;
const SECONDS = 3_600;

/** Tries in a row until the next day, an hour apart. */
const MOST_ATTEMPTS = 4;
const AGAIN_MS = HOUR_MS;

/** The next instant, after `now`, at which the competitors of an organization are read: once a day. */
export function nextSlot(orgId: string, now: Date): Date {
  const own = BEGINS_MS + (sha256(orgId).readUInt32BE(0) % SECONDS) * 1_000;
  const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS + own;
  return new Date(today > now.getTime() ? today : today + DAY_MS);
}

/** When an account whose reading failed is read again, and how many tries have failed by then. */
export function afterFailure(
  { orgId, attempts, now }: { orgId: string; attempts: number; now: Date },
  waitMs = 0,
): { at: Date; attempts: number } {
  const failed = attempts + 1;
  if (failed >= MOST_ATTEMPTS) return { at: nextSlot(orgId, now), attempts: 0 };
  return { at: new Date(now.getTime() + Math.max(AGAIN_MS, waitMs)), attempts: failed };
}

/** Leaves out counts that cannot be any. */
export const soundCounts = (counts: Readonly<Record<string, number | undefined>>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(counts).flatMap(([metric, value]) =>
      value !== undefined && Number.isSafeInteger(value) && value >= 0 ? [[metric, value]] : [],
    ),
  );

/** A picture is linked where it is: only an address that a page may show. */
export const soundPicture = (address: string | undefined): string | null =>
  address !== undefined && address.length <= 2_000 && /^https:\/\//i.test(address) && URL.canParse(address)
    ? address
    : null;

/** The days of a history, as they were asked for, and not older than the plan shows. */
export function shownDays(
  { from, to }: { from?: string | undefined; to?: string | undefined },
  now: Date,
  retentionDays: number,
): { from: string; to: string } {
  const last = to ?? dayOf(now.getTime());
  const first = from ?? dayOf(Date.parse(last) - 29 * DAY_MS);
  const oldest = dayOf(now.getTime() - retentionDays * DAY_MS);
  return { from: first < oldest ? oldest : first, to: last };
}
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
