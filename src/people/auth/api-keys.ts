import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import { type Billing, copyKeyLimits } from '../../entitlements/index.ts';
import { briefLookups } from '../../platform/cache/index.ts';
import type { Database, Sql } from '../../platform/db/index.ts';
import type { Email } from '../../delivery/email/index.ts';
import {
  AppError,
  bind,
  type Clock,
  invalidField,
  isId,
  newId,
  notFound,
  randomBase62,
  sha256,
  sha256Hex,
} from '../../platform/kernel/index.ts';
import * as store from './api-key-store.ts';
import { lastUsed } from './last-used.ts';
import { changeKeyLimits, findKeyLimits } from './api-key-limits.ts';
import type { ProgramSpending } from './ports.ts';
import { requireSession } from './sessions.ts';
import type { Device } from './store.ts';

export type { ApiKeyRow, MemberKeyRow } from './api-key-store.ts';

/** Shown once. */
export interface MadeKey {
  plaintext: string;
  prefix: string;
  name: string;
}

type Owner = AuditActor & { userId: string; sessionId?: string };

interface ApiKeyOptions {
  sql: Database;
  clock: Clock;
  /** Told when the last use of keys could not be written. */
  failed: (error: unknown) => void;
  billing: Pick<Billing, 'require'>;
  spending: ProgramSpending;
  email: Email;
}
interface ApiKeyDeps extends ApiKeyOptions {
  uses: ReturnType<typeof lastUsed<store.KeyUse>>;
  holders: ReturnType<typeof briefLookups<store.KeyHolder>>;
}

export type ApiKeys = ReturnType<typeof openApiKeys>;

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

const forget = ({ holders }: ApiKeyDeps, keyHash: Buffer) => holders.forget(keyHash.toString('hex'));

function make(
  { clock }: ApiKeyDeps,
  name: string,
  expiresAt: Date | null | undefined,
): { row: store.NewApiKey; made: MadeKey } {
  if (expiresAt && expiresAt <= clock.now()) throw invalidField('expiresAt', 'must lie in the future', 'too_small');
  const plaintext = `pm_live_${randomBase62(43)}`;
  const prefix = plaintext.slice(0, PREFIX_LENGTH);
  return {
    row: { id: newId(), name, prefix, keyHash: sha256(plaintext), expiresAt: expiresAt ?? null },
    made: { plaintext, prefix, name },
  };
}

/** `sessionId`: of the session that asks, where one does; held first, as by whoever notes its use. */
async function holdMember(tx: Sql, orgId: string, { userId, sessionId }: Owner): Promise<void> {
  if (sessionId !== undefined) await requireSession(tx, { sessionId });
  if (!(await store.lockMember(tx, orgId, userId)))
    throw new AppError('forbidden', 'You are no active member of this organization any more');
}

/** One that has expired is not counted, so a rotation can be one too many. */
async function checkNumber(sql: Sql, orgId: string, userId: string): Promise<void> {
  if ((await store.countLiveKeys(sql, orgId, userId)) >= LIVE_KEYS)
    throw new AppError('invalid_request', `At most ${LIVE_KEYS} live API keys are possible: revoke one first`);
}

/** While the member is held. */
async function insert(tx: Sql, orgId: string, { userId }: Owner, row: store.NewApiKey): Promise<void> {
  await checkNumber(tx, orgId, userId);
  await store.insertKey(tx, orgId, userId, row);
}

/** @throws AppError where this member can have no more keys now: 402 by the plan, 400 by their number */
async function checkRoom({ sql, billing }: ApiKeyDeps, orgId: string, userId: string): Promise<void> {
  await billing.require(sql, orgId, 'api');
  await checkNumber(sql, orgId, userId);
}

/** Whoever has the session, or was led to approve a device, may not be the owner. */
async function tell(
  { email }: ApiKeyDeps,
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
async function revokeOne(
  deps: ApiKeyDeps,
  orgId: string,
  by: AuditActor,
  id: string,
  userId: string | undefined,
): Promise<void> {
  const keyHash = await deps.sql.begin(async (tx) => {
    const old = await store.keyForUpdate(tx, orgId, id, userId);
    if (!old) throw notFound();
    if (!old.revoked) {
      await store.revokeKey(tx, orgId, id);
      await writeAudit(tx, by, ofKey(orgId, 'revoked', id, { name: old.name, prefix: old.prefix, userId: old.userId }));
    }
    return old.keyHash;
  });
  forget(deps, keyHash);
}

/** Lists the member's own keys. */
async function list({ uses, sql }: ApiKeyDeps, orgId: string, userId: string): Promise<readonly store.ApiKeyRow[]> {
  await uses.flush();
  return store.keysOf(sql, orgId, userId);
}

/**
 * Makes a key and tells the owner by mail; `device`: for which device, where it is for one; `also`: what is done with
 * its id in the same commit.
 */
async function create(
  deps: ApiKeyDeps,
  orgId: string,
  by: Owner,
  {
    name,
    expiresAt,
    device,
    also,
  }: {
    name: string;
    expiresAt?: Date | null | undefined;
    device?: Device | undefined;
    also?: ((tx: Sql, id: string) => Promise<void>) | undefined;
  },
): Promise<MadeKey> {
  const { row, made } = make(deps, name, expiresAt);
  await deps.sql.begin(async (tx) => {
    await deps.billing.require(tx, orgId, 'api');
    await holdMember(tx, orgId, by);
    await also?.(tx, row.id);
    await insert(tx, orgId, by, row);
    await tell(deps, tx, orgId, by, row, device);
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
}

/**
 * Makes a key in the place of an old one, which dies in the same commit; it has the limits of that, and what that has
 * used of its day. `name` absent keeps the old name, `expiresAt` is not inherited.
 *
 * @throws AppError `not_found` for a key of somebody else, `conflict` for one that is revoked already
 */
async function rotate(
  deps: ApiKeyDeps,
  orgId: string,
  by: Owner,
  id: string,
  { name, expiresAt }: { name?: string | undefined; expiresAt?: Date | null | undefined },
): Promise<MadeKey> {
  const rotated = await deps.sql.begin(async (tx) => {
    await holdMember(tx, orgId, by); // before the key, as a removal takes them
    const old = await store.keyForUpdate(tx, orgId, id, by.userId);
    if (!old) throw notFound();
    if (old.revoked) throw new AppError('conflict', 'This API key is revoked already');
    await deps.billing.require(tx, orgId, 'api');
    const { row, made } = make(deps, name ?? old.name, expiresAt);
    await store.revokeKey(tx, orgId, id);
    await insert(tx, orgId, by, row);
    await copyKeyLimits(tx, orgId, id, row.id);
    await deps.spending.copyDay(tx, orgId, id, row.id);
    await tell(deps, tx, orgId, by, row);
    await writeAudit(tx, by, ofKey(orgId, 'rotated', id, { name: row.name, prefix: row.prefix, newId: row.id }));
    return { old: old.keyHash, made };
  });
  forget(deps, rotated.old);
  return rotated.made;
}

/**
 * Revokes an own key; one that is revoked already stays as it is.
 * @throws AppError `not_found` for a key of somebody else
 */
const revoke = (deps: ApiKeyDeps, orgId: string, by: Owner, id: string): Promise<void> =>
  revokeOne(deps, orgId, by, id, by.userId);

/** Lists the keys of all members (S51). */
async function listOfOrg({ uses, sql }: ApiKeyDeps, orgId: string): Promise<readonly store.MemberKeyRow[]> {
  await uses.flush();
  return store.keysOfOrg(sql, orgId);
}

/** Revokes a key of any member. */
const revokeOfOrg = (deps: ApiKeyDeps, orgId: string, by: AuditActor, id: string): Promise<void> =>
  revokeOne(deps, orgId, by, id, undefined);

/** Revokes every key of a user, in the caller's transaction; what is answered is to be called when it stands. */
async function revokeAllOf(deps: ApiKeyDeps, tx: Sql, userId: string): Promise<() => void> {
  const hashes = await store.revokeKeysOf(tx, userId);
  return () => hashes.forEach(({ keyHash }) => forget(deps, keyHash));
}

/**
 * Finds whom a key stands for. What changes elsewhere is seen within a second.
 * @throws AppError `invalid_api_key` alike for unknown, malformed, revoked and expired keys
 */
async function authenticate({ holders, clock, uses }: ApiKeyDeps, key: string): Promise<store.KeyHolder> {
  const holder = FORM.test(key) ? await holders.get(sha256Hex(key)) : undefined;
  const now = clock.now();
  if (!holder || (holder.expiresAt && holder.expiresAt <= now)) throw invalid();
  uses.note(holder.apiKeyId, { apiKeyId: holder.apiKeyId, orgId: holder.orgId, at: now });
  return holder;
}

/** Finds whom keys stand for by their ids, in their order; undefined for one that is dead. */
const findHolders = async ({ sql }: ApiKeyDeps, ids: readonly string[]): Promise<(store.KeyHolder | undefined)[]> =>
  ids.length === 0 ? [] : store.findKeyHolders(sql, ids);

/**
 * Whom a key stands for in the organization that a request names: its own, and for a super-admin's key any that lives,
 * as its owner where they are no member (MC13).
 * @throws AppError `not_found` for every other organization, and where the membership is disabled
 */
async function holderIn({ sql }: ApiKeyDeps, holder: store.KeyHolder, orgId: string): Promise<store.KeyHolder> {
  if (orgId === holder.orgId) return holder;
  const role = holder.isSuperAdmin && isId(orgId) ? await store.findRoleIn(sql, orgId, holder.userId) : undefined;
  if (!role) throw notFound();
  return { ...holder, ...role };
}

/** API keys of members: made, listed, rotated, revoked, and what they stand for. */
export function openApiKeys(opened: ApiKeyOptions) {
  const { sql, clock, failed } = opened;
  const uses = lastUsed<store.KeyUse>({ clock, failed, write: (notes) => store.noteKeys(sql, notes) });
  const holders = briefLookups<store.KeyHolder>({ clock, look: (hash) => store.holderOfKey(sql, hash) });
  const deps: ApiKeyDeps = { ...opened, uses, holders };
  return {
    ...bind(deps, {
      list,
      checkRoom,
      create,
      rotate,
      revoke,
      listOfOrg,
      revokeOfOrg,
      revokeAllOf,
      authenticate,
      findHolders,
      holderIn,
      findLimits: findKeyLimits,
      changeLimits: changeKeyLimits,
    }),
    /** The living keys of a user, whatever the org. */
    liveOf: store.liveKeysOf,
    [Symbol.asyncDispose]() {
      holders.forget();
      return uses[Symbol.asyncDispose]();
    },
  };
}
