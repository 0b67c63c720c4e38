import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import type { Billing } from '../../entitlements/index.ts';
import { briefLookups } from '../../platform/cache/index.ts';
import type { Database, Sql } from '../../platform/db/index.ts';
import type { Email } from '../../delivery/email/index.ts';
import {
  AppError,
  type Clock,
  invalidField,
  newId,
  notFound,
  randomBase62,
  sha256,
  sha256Hex,
} from '../../platform/kernel/index.ts';
import * as store from './api-key-store.ts';
import { lastUsed } from './last-used.ts';
import type { Device } from './store.ts';

export type { ApiKeyRow, MemberKeyRow } from './api-key-store.ts';

/** Shown once. */
export interface MadeKey {
  plaintext: string;
  prefix: string;
  name: string;
}

type Owner = AuditActor & { userId: string };

export interface ApiKeys extends AsyncDisposable {
  /** Own keys; 404 and 409 below are about these, too. */
  list(orgId: string, userId: string): Promise<readonly store.ApiKeyRow[]>;
  /** The owner is told by mail; `device`: for which device, where it is for one. */
  create(
    orgId: string,
    by: Owner,
    key: { name: string; expiresAt?: Date | null | undefined; device?: Device | undefined },
  ): Promise<MadeKey>;
  /**
   * A new key in the place of an old one, which dies in the same commit; `name` absent keeps the old name, `expiresAt`
   * is not inherited.
   */
  rotate(
    orgId: string,
    by: Owner,
    id: string,
    key: { name?: string | undefined; expiresAt?: Date | null | undefined },
  ): Promise<MadeKey>;
  revoke(orgId: string, by: Owner, id: string): Promise<void>;
  /** Keys of all members (S51). */
  listOfOrg(orgId: string): Promise<readonly store.MemberKeyRow[]>;
  revokeOfOrg(orgId: string, by: AuditActor, id: string): Promise<void>;
  /** The living keys of a user, whatever the org. */
  liveOf(transaction: Sql, userId: string): Promise<readonly store.LiveKey[]>;
  /** Every key of a user, in the caller's transaction; what is answered is to be called when it stands. */
  revokeAllOf(transaction: Sql, userId: string): Promise<() => void>;
  /**
   * Whom a key stands for; throws `invalid_api_key` alike for unknown, malformed, revoked and expired ones. What
   * changes elsewhere is seen within a second.
   */
  authenticate(key: string): Promise<store.KeyHolder>;
}

const FORM = /^pm_live_[0-9A-Za-z]{43}$/;
const PREFIX_LENGTH = 'pm_live_'.length + 4;
const LIVE_KEYS = 50;

const ofKey = (orgId: string, done: string, id: string, detail: Record<string, string | null>) => ({
  orgId,
  action: `api_key.${done}`,
  resource: 'api_keys',
  resourceId: id,
  detail,
});
const invalid = () =>
  new AppError('invalid_api_key', 'Invalid API key', {
    errors: [
      {
        field: 'Authorization',
        message: 'Authorization: send a key that is neither revoked nor expired, raw or as `Bearer <key>`',
        rule: 'invalid_value',
      },
    ],
  });

export function openApiKeys({
  sql,
  clock,
  failed,
  billing,
  email,
}: {
  sql: Database;
  clock: Clock;
  failed: (error: unknown) => void;
  billing: Pick<Billing, 'require'>;
  email: Email;
}): ApiKeys {
  const uses = lastUsed<store.KeyUse>({ clock, failed, write: (notes) => store.noteKeys(sql, notes) });
  const holders = briefLookups<store.KeyHolder>({ clock, look: (hash) => store.holderOfKey(sql, hash) });
  const forget = (keyHash: Buffer) => holders.forget(keyHash.toString('hex'));

  function make(name: string, expiresAt: Date | null | undefined): { row: store.NewApiKey; made: MadeKey } {
    if (expiresAt && expiresAt <= clock.now())
      throw invalidField('expiresAt', 'expiresAt: must lie in the future', 'too_small');
    const plaintext = `pm_live_${randomBase62(43)}`;
    const prefix = plaintext.slice(0, PREFIX_LENGTH);
    return {
      row: { id: newId(), name, prefix, keyHash: sha256(plaintext), expiresAt: expiresAt ?? null },
      made: { plaintext, prefix, name },
    };
  }

  async function holdMember(tx: Sql, orgId: string, { userId }: Owner): Promise<void> {
    if (!(await store.lockMember(tx, orgId, userId)))
      throw new AppError('forbidden', 'You are no active member of this organization any more');
  }
  /** While the member is held. One that has expired is not counted, so a rotation can be one too many. */
  async function insert(tx: Sql, orgId: string, { userId }: Owner, row: store.NewApiKey): Promise<void> {
    if ((await store.countLiveKeys(tx, orgId, userId)) >= LIVE_KEYS)
      throw new AppError('invalid_request', `At most ${LIVE_KEYS} live API keys are possible: revoke one first`);
    await store.insertKey(tx, orgId, userId, row);
  }
  /** Whoever has the session, or was led to approve a device, may not be the owner. */
  async function tell(
    tx: Sql,
    orgId: string,
    { userId }: Owner,
    { name: keyName, prefix, expiresAt }: store.NewApiKey,
    device?: Device,
  ): Promise<void> {
    if (!email.enabled) return;
    const { email: to, ...names } = await store.ownerOf(tx, orgId, userId);
    const data = {
      ...names,
      keyName,
      prefix,
      expiresAt: expiresAt?.toISOString() ?? null,
      ...(device && { device: `${device.ip}, ${device.userAgent || 'unnamed'}` }),
    };
    await email.queue(tx, { to, orgId: null, content: { template: 'key-made', data } });
  }

  /** Revokes a key of one user, or of anybody in the org. A key that is revoked already is left as it is. */
  async function revokeOne(orgId: string, by: AuditActor, id: string, userId: string | undefined): Promise<void> {
    const keyHash = await sql.begin(async (tx) => {
      const old = await store.keyForUpdate(tx, orgId, id, userId);
      if (!old) throw notFound();
      if (!old.revoked) {
        await store.revokeKey(tx, orgId, id);
        await writeAudit(
          tx,
          by,
          ofKey(orgId, 'revoked', id, { name: old.name, prefix: old.prefix, userId: old.userId }),
        );
      }
      return old.keyHash;
    });
    forget(keyHash);
  }

  return {
    async list(orgId, userId) {
      await uses.flush();
      return store.keysOf(sql, orgId, userId);
    },

    async create(orgId, by, { name, expiresAt, device }) {
      const { row, made } = make(name, expiresAt);
      await sql.begin(async (tx) => {
        await billing.require(tx, orgId, 'api');
        await holdMember(tx, orgId, by);
        await insert(tx, orgId, by, row);
        await tell(tx, orgId, by, row, device);
        await writeAudit(
          tx,
          by,
          ofKey(orgId, 'created', row.id, {
            name,
            prefix: row.prefix,
            expiresAt: row.expiresAt?.toISOString() ?? null,
          }),
        );
      });
      return made;
    },

    async rotate(orgId, by, id, { name, expiresAt }) {
      const rotated = await sql.begin(async (tx) => {
        await holdMember(tx, orgId, by); // before the key, as a removal takes them
        const old = await store.keyForUpdate(tx, orgId, id, by.userId);
        if (!old) throw notFound();
        if (old.revoked) throw new AppError('conflict', 'This API key is revoked already');
        await billing.require(tx, orgId, 'api');
        const { row, made } = make(name ?? old.name, expiresAt);
        await store.revokeKey(tx, orgId, id);
        await insert(tx, orgId, by, row);
        await tell(tx, orgId, by, row);
        await writeAudit(tx, by, ofKey(orgId, 'rotated', id, { name: row.name, prefix: row.prefix, newId: row.id }));
        return { old: old.keyHash, made };
      });
      forget(rotated.old);
      return rotated.made;
    },

    revoke: (orgId, by, id) => revokeOne(orgId, by, id, by.userId),
    async listOfOrg(orgId) {
      await uses.flush();
      return store.keysOfOrg(sql, orgId);
    },
    revokeOfOrg: (orgId, by, id) => revokeOne(orgId, by, id, undefined),

    liveOf: store.liveKeysOf,
    async revokeAllOf(tx, userId) {
      const hashes = await store.revokeKeysOf(tx, userId);
      return () => hashes.forEach(({ keyHash }) => forget(keyHash));
    },

    async authenticate(key) {
      const holder = FORM.test(key) ? await holders.get(sha256Hex(key)) : undefined;
      const now = clock.now();
      if (!holder || (holder.expiresAt && holder.expiresAt <= now)) throw invalid();
      uses.note(holder.apiKeyId, { apiKeyId: holder.apiKeyId, orgId: holder.orgId, at: now });
      return holder;
    },

    [Symbol.asyncDispose]() {
      holders.forget();
      return uses[Symbol.asyncDispose]();
    },
  };
}
