import type { Database } from '../../platform/db/index.ts';
import { AppError, invalidField, newId, sha256 } from '../../platform/kernel/index.ts';
import * as store from './store.ts';

/** Devices of one person; beyond them the one that registered first goes. */
const MOST_DEVICES = 20;

export interface DeviceInput {
  token: string;
  platform: store.PushPlatform;
  deviceName?: string | undefined;
}

/**
 * Registers the device of a session, to which pushes go until the session ends.
 * @throws AppError `push_token_taken` while the device is registered by somebody else (NO1, S237)
 */
export const registerDevice = (
  { sql }: { sql: Database },
  by: { userId: string; sessionId: string },
  { token, platform, deviceName }: DeviceInput,
): Promise<store.DeviceRow> =>
  sql.begin(async (tx) => {
    if (token.trimStart().startsWith('{'))
      throw invalidField('token', 'must be a registration token of Firebase', 'invalid_format');
    await store.lockDevices(tx, by.userId);
    const device = { ...by, id: newId(), token, platform, deviceName: deviceName ?? null, hash: sha256(token) };
    const row = await store.upsertDevice(tx, device);
    if (!row) throw new AppError('push_token_taken', 'This token is registered by another user, who has to log out');
    await store.deleteOldestDevices(tx, by.userId, MOST_DEVICES);
    return row;
  });

/** Forgets a device of a user; one that is not theirs stays, and the answer does not tell. */
export async function removeDevice({ sql }: { sql: Database }, userId: string, token: string): Promise<void> {
  await store.deletePushDevice(sql, userId, sha256(token));
}
