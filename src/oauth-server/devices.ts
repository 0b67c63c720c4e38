import { randomInt } from 'node:crypto';
import { writeAudit } from '../platform/audit/index.ts';
import { type AuthRoom, requireSession, type SessionActor } from '../people/auth/index.ts';
import type { Database } from '../platform/db/index.ts';
import { AppError, type Clock, invalidField, newId, randomBase62, sha256 } from '../platform/kernel/index.ts';
import * as store from './device-store.ts';
import { OAuthError } from './errors.ts';

/** The answer to a client without a browser that starts a device authorization (S95). */
export interface DeviceCodes {
  deviceCode: string;
  /** `XXXX-XXXX`, to be typed in by a person. */
  userCode: string;
  expiresIn: number;
  interval: number;
}
export type { WaitingDevice } from './device-store.ts';
export interface Devices {
  start(from: { ip: string; userAgent: string }): Promise<DeviceCodes>;
  /** From where the code was asked for, and when; 400 for one that does not wait. */
  find(userCode: string): Promise<store.WaitingDevice>;
  /** Who approves is refused what the key would be refused: 402 by the plan, 400 for as many keys as there may be. */
  decide(orgId: string, by: SessionActor, userCode: string, decision: 'approved' | 'denied'): Promise<void>;
  /** The API key of an approved request, once; else `OAuthError`. A second use revokes the key (RFC 6749 4.1.2). */
  redeem(deviceCode: string, ip: string): Promise<{ orgId: string; apiKey: string }>;
}

const SECONDS = 15 * 60;
const INTERVAL = 5;
/** A device cannot renew its key: after three months a person approves it again. */
const KEY_MS = 90 * 24 * 60 * 60_000;
// no vowels, so no words; none that is taken for a figure or another letter (RFC 8628 6.1)
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';

const newUserCode = () => Array.from({ length: 8 }, () => LETTERS[randomInt(LETTERS.length)]).join('');
/** As it was given out, however a person types it. */
const hashOfUserCode = (text: string) => sha256(text.toUpperCase().replace(/[^A-Z]/g, ''));
const unknownDevice = () => new OAuthError('invalid_device_code', 'No such request, or it was used');
const unknownCode = () => invalidField('user_code', 'no such code waits; it may have expired', 'unknown_id');

export function openDevices({
  sql,
  clock,
  auth,
}: {
  sql: Database;
  clock: Clock;
  auth: Pick<AuthRoom, 'apiKeys'>;
}): Devices {
  return {
    async start({ ip, userAgent }) {
      for (;;) {
        const deviceCode = randomBase62(43);
        const letters = newUserCode();
        const device = {
          id: newId(),
          deviceHash: sha256(deviceCode),
          userHash: hashOfUserCode(letters),
          intervalSeconds: INTERVAL,
          seconds: SECONDS,
          ip,
          userAgent,
        };
        if (await store.insertDevice(sql, device))
          return {
            deviceCode,
            userCode: `${letters.slice(0, 4)}-${letters.slice(4)}`,
            expiresIn: SECONDS,
            interval: INTERVAL,
          };
      }
    },

    async find(userCode) {
      const device = await store.waitingDevice(sql, hashOfUserCode(userCode), SECONDS);
      if (!device) throw unknownCode();
      return device;
    },

    async decide(orgId, by, userCode, decision) {
      if (decision === 'approved') await auth.apiKeys.checkRoom(orgId, by.userId);
      await sql.begin(async (tx) => {
        await requireSession(tx, by);
        const id = await store.decideDevice(tx, orgId, {
          userHash: hashOfUserCode(userCode),
          userId: by.userId,
          decision,
        });
        if (id === undefined) throw unknownCode();
        await writeAudit(tx, by, { orgId, action: `device.${decision}`, resource: 'api_keys', resourceId: id });
      });
    },

    async redeem(deviceCode, ip) {
      const device = await store.askDevice(sql, sha256(deviceCode), INTERVAL);
      if (!device) throw unknownDevice();
      const { id, decision, orgId, userId, apiKeyId, expired, early } = device;
      const by = { userId: userId!, impersonatorId: null, ip };
      if (apiKeyId !== null) {
        // the answer with the key was lost, or somebody else has the code, too
        await auth.apiKeys.revoke(orgId!, by, apiKeyId);
        throw unknownDevice();
      }
      if (expired) throw new OAuthError('expired_token', 'This request has expired, start again');
      if (decision === 'denied') throw new OAuthError('access_denied', 'The request was denied');
      if (early) throw new OAuthError('slow_down', 'Asked too soon: wait five seconds longer from now on');
      if (decision === null) throw new OAuthError('authorization_pending', 'Nobody has approved it yet');
      const { plaintext } = await auth.apiKeys
        .create(orgId!, by, {
          name: 'CLI',
          expiresAt: clock.in(KEY_MS),
          device: { ip: device.ip, userAgent: device.userAgent },
          // in the commit of the key: one that stands, but of which nobody was told, is not followed by another
          also: async (tx, keyId) => {
            if (!(await store.takeDevice(tx, id, keyId))) throw unknownDevice();
          },
        })
        .catch((error: unknown) => {
          // the plan, the membership or the number of keys has changed since the approval
          const isRefusal = error instanceof AppError && error.status < 500 && !(error instanceof OAuthError);
          throw isRefusal ? new OAuthError('access_denied', error.message) : error;
        });
      return { orgId: orgId!, apiKey: plaintext };
    },
  };
}
