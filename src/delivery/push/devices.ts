import type { Database } from '../../platform/db/index.ts';
import { AppError, invalidField, newId, sha256 } from '../../platform/kernel/index.ts';
import { type Outbound, OutboundError } from '../../platform/outbound/index.ts';
import * as store from './store.ts';
import { PushSubscription } from './web-push.ts';

/** Devices of one person; beyond them the one that registered first goes. */
const MOST_DEVICES = 20;

export interface DeviceInput {
  token: string;
  platform: store.PushPlatform;
  deviceName?: string | undefined;
}

interface DevicesDeps {
  sql: Database;
  outbound: Pick<Outbound, 'judge'>;
  /** By which pushes leave. */
  ways: readonly store.PushWay[];
}

const isSubscription = (token: string): boolean => token.startsWith('{');
/** The subscription that a token is the JSON of; undefined when it is none. */
function subscriptionOf(token: string): PushSubscription | undefined {
  try {
    return PushSubscription.safeParse(JSON.parse(token)).data;
  } catch {
    return undefined;
  }
}
/** A device is known by its token; a subscription by its endpoint, however its JSON is written. */
const hashOf = (token: string): Buffer => {
  const subscription = isSubscription(token) ? subscriptionOf(token) : undefined;
  return sha256(subscription ? `web-push ${subscription.endpoint}` : token);
};

/** By which way pushes reach the device; throws for a token that can be no device. */
function wayTo({ outbound, ways }: DevicesDeps, { token, platform }: DeviceInput): store.PushWay {
  if (!isSubscription(token)) return 'fcm';
  if (!ways.includes('web-push'))
    throw invalidField(
      'token',
      'must be a registration token of Firebase: nothing is pushed to browsers without VAPID keys',
      'invalid_format',
    );
  const subscription = subscriptionOf(token);
  if (!subscription)
    throw invalidField(
      'token',
      'must be the JSON of a PushSubscription: an https endpoint, and the keys p256dh and auth',
      'invalid_format',
    );
  if (platform !== 'web') throw invalidField('platform', 'must be web for a PushSubscription', 'invalid_value');
  try {
    outbound.judge(subscription.endpoint);
  } catch (error) {
    throw error instanceof OutboundError ? error.ofField('token') : error;
  }
  return 'web-push';
}

/**
 * Registers the device of a session, to which pushes go until the session ends.
 * @throws AppError `push_token_taken` while the device is registered by somebody else (NO1, S237)
 */
export async function registerDevice(
  deps: DevicesDeps,
  by: { userId: string; sessionId: string },
  input: DeviceInput,
): Promise<store.DeviceRow> {
  const via = wayTo(deps, input);
  const { token, platform, deviceName } = input;
  const hash = hashOf(token);
  return deps.sql.begin(async (tx) => {
    await store.lockDevices(tx, by.userId);
    await store.deletePushesOfOthers(tx, by.userId, hash);
    const device = { ...by, id: newId(), token, via, platform, deviceName: deviceName ?? null, hash };
    const row = await store.upsertDevice(tx, device);
    if (!row) throw new AppError('push_token_taken', 'This token is registered by another user, who has to log out');
    await store.deleteOldestDevices(tx, by.userId, MOST_DEVICES);
    return row;
  });
}

/** Forgets a device of a user; one that is not theirs stays, and the answer does not tell. */
export async function removeDevice({ sql }: Pick<DevicesDeps, 'sql'>, userId: string, token: string): Promise<void> {
  await store.deletePushDevice(sql, userId, hashOf(token));
}
