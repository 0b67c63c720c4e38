import type { Sql } from '../../platform/db/index.ts';
import { completePreferences } from '../identity/index.ts';
import { windowEnd, zoneOfPerson } from './rules.ts';
import { endWindowsEarlier, lockWindowsOf } from './window-store.ts';

/**
 * Reckons anew when the open windows of a person end, in the transaction that changed their preferences or their zone:
 * earlier, never later.
 */
export async function rescheduleWindows(tx: Sql, userId: string): Promise<void> {
  const windows = (await lockWindowsOf(tx, userId)).flatMap(({ kind, chosen, timezone, now }) => {
    const dueAt = windowEnd(kind, completePreferences(chosen), { now: now.getTime(), zone: zoneOfPerson(timezone) });
    return dueAt === undefined ? [] : [{ kind, dueAt }];
  });
  if (windows.length > 0) await endWindowsEarlier(tx, userId, windows);
}
