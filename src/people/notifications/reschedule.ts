import type { Sql } from '../../platform/db/index.ts';
import { completePreferences, type PreferencesChange } from '../identity/index.ts';
import { windowEnd, zoneOfPerson } from './rules.ts';
import { endWindowsEarlier, lockWindowsOf, openWindows, wishesOf } from './window-store.ts';

/**
 * Reckons anew when the open windows of a person end, in the transaction that changed their preferences or their zone:
 * earlier, never later. Where digests end earlier than by the preferences of `before`, one is opened: of a notice that
 * read those, and has yet to commit, nobody sees the window. Now one of the two waits for the other.
 */
export async function rescheduleWindows(tx: Sql, userId: string, before?: PreferencesChange): Promise<void> {
  const wishes = await wishesOf(tx, userId);
  if (!wishes) return;
  const { chosen, timezone, now } = wishes;
  const endOf = (kind: string, of: PreferencesChange) =>
    windowEnd(kind, completePreferences(of), { now: now.getTime(), zone: zoneOfPerson(timezone) });
  const [old, dueAt] = [before && endOf('digest', before), endOf('digest', chosen)];
  if (old !== undefined && dueAt !== undefined && dueAt < old)
    await openWindows(tx, [{ userId, kind: 'digest', dueAt }]);
  const windows = (await lockWindowsOf(tx, userId)).flatMap(({ kind }) => {
    const end = endOf(kind, chosen);
    return end === undefined ? [] : [{ kind, dueAt: end }];
  });
  if (windows.length > 0) await endWindowsEarlier(tx, userId, windows);
}
