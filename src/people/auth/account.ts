import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import type { Database, Sql } from '../../platform/db/index.ts';
import type { Email } from '../../delivery/email/index.ts';
import { hasPlus, type Identity } from '../identity/index.ts';
import { AppError, bind, type Clock, invalidField, notFound, sha256 } from '../../platform/kernel/index.ts';
import * as store from './account-store.ts';
import type { ApiKeys } from './api-keys.ts';
import * as codes from './code-store.ts';
import { makeCode } from './codes.ts';
import type { Approvals, CalendarFeeds } from './ports.ts';
import { type ChosenPasswordHash, verifyPassword } from './password.ts';
import { dropRegistrations } from './registration-store.ts';
import { requireSession, type SessionActor } from './sessions.ts';
import { revokeSessions, startOfSession } from './store.ts';

export type Accounts = ReturnType<typeof openAccounts>;
/** A user who acts in the session `sessionId`. */

export interface AccountDeps {
  sql: Database;
  clock: Clock;
  identity: Identity;
  email: Email;
  apiKeys: Pick<ApiKeys, 'revokeAllOf' | 'liveOf'>;
  approvals: Approvals;
  feeds: CalendarFeeds;
  hash: ChosenPasswordHash;
  frontendUrl: string;
  disallowPlus: boolean;
}

const FRESH_LOGIN_MS = 15 * 60_000;
const noPassword = ({ isLocal }: store.LocalAccount) =>
  new AppError(
    'invalid_request',
    isLocal
      ? 'This account has no password yet: set one first'
      : 'This account has no password: it logs in at a provider',
  );
const ofUser = (userId: string, action: string, detail = {}) => ({
  orgId: null,
  action,
  resource: 'user',
  resourceId: userId,
  detail,
});

/** The account, once its password was given; `field` is where the client sent it. */
async function proven(
  { sql }: AccountDeps,
  userId: string,
  password: string,
  field: string,
): Promise<store.LocalAccount & { passwordHash: string }> {
  const account = await store.findAccount(sql, userId);
  if (!account) throw notFound();
  const { passwordHash } = account;
  if (passwordHash === null) throw noPassword(account);
  if (!(await verifyPassword(password, passwordHash))) throw invalidField(field, 'this is not your password');
  return { ...account, passwordHash };
}

async function isFresh({ sql, clock }: AccountDeps, { userId, sessionId }: SessionActor): Promise<boolean> {
  const started = await startOfSession(sql, userId, sessionId);
  return started !== undefined && clock.now().getTime() - started.getTime() <= FRESH_LOGIN_MS;
}

/**
 * The account whose password is to change: its old one was given, or it has none and its mailbox was proven for this
 * very session.
 */
async function mayChange(
  deps: AccountDeps,
  by: SessionActor,
  oldPassword: string | undefined,
): Promise<store.LocalAccount> {
  const account = await store.findAccount(deps.sql, by.userId);
  if (!account) throw notFound();
  if (account.passwordHash === null && account.isLocal) {
    if (!(await isFresh(deps, by)))
      throw new AppError('conflict', 'Ask for a mail to set a password: this session is too old for the first one');
    return account;
  }
  if (oldPassword === undefined) throw invalidField('oldPassword', 'is required', 'required');
  return proven(deps, by.userId, oldPassword, 'oldPassword');
}

/** Without mail nobody can confirm an address, as nobody can activate. */
async function changeAtOnce(
  { sql }: AccountDeps,
  by: SessionActor,
  { userId }: store.LocalAccount,
  to: string,
): Promise<void> {
  try {
    await sql.begin(async (tx) => {
      await store.changeAddress(tx, userId, to);
      await requireSession(tx, by);
      await codes.dropCodes(tx, userId);
      await writeAudit(tx, by, ofUser(userId, 'email.changed'));
    });
  } catch (error) {
    throw store.isAddressTaken(error) ? new AppError('invalid_request', 'Email already exists') : error;
  }
}

/** Tells the owner, and what opens the account still. */
async function tellChanged(
  { email, apiKeys, approvals, feeds }: AccountDeps,
  tx: Sql,
  { userId, email: to, name }: store.LocalAccount,
): Promise<void> {
  if (!email.enabled) return;
  const keys = (await apiKeys.liveOf(tx, userId)).map(
    (key) => `the API key ${key.name} (${key.prefix}…) in ${key.orgName}`,
  );
  const apps = (await approvals.namesOf(tx, userId)).map((app) => `the app ${app.name} in ${app.orgName}`);
  const calendars = (await feeds.namesOf(tx, userId)).map(
    (feed) => `the calendar feed of ${feed.name} in ${feed.orgName}`,
  );
  await email.queue(tx, {
    to,
    orgId: null,
    content: { template: 'password-changed', data: { name, opens: [...keys, ...apps, ...calendars] } },
  });
}

/** Everything that opens the account without its password. What is answered is to be called when it stands. */
async function revokeClientAccess(
  { approvals, feeds, apiKeys }: AccountDeps,
  tx: Sql,
  userId: string,
): Promise<() => void> {
  await approvals.endAllOf(tx, userId);
  await feeds.endAllOf(tx, userId);
  return apiKeys.revokeAllOf(tx, userId);
}

/**
 * Sets the password of whoever has the code of a reset mail and ends all their sessions, API keys, calendar feeds and
 * approvals of apps, for somebody else may have made them; false for a code that is unknown, used or expired.
 */
async function reset(deps: AccountDeps, code: string, password: string, ip: string): Promise<boolean> {
  const { sql, identity } = deps;
  const codeHash = sha256(code);
  if (!(await codes.isLive(sql, 'reset', codeHash))) return false; // before the costly hash; decided in the commit
  const passwordHash = await deps.hash(password);
  const forget = await sql.begin(async (tx) => {
    const redeemed = await codes.redeem(tx, 'reset', codeHash);
    const account = redeemed && (await store.resetPassword(tx, redeemed.userId, passwordHash));
    if (!account) return undefined;
    const { userId } = account;
    await codes.dropCodes(tx, userId);
    await dropRegistrations(tx, userId);
    const revoked = await revokeSessions(tx, userId);
    const forgetKeys = await revokeClientAccess(deps, tx, userId);
    await identity.becomeSuperAdmin(tx, userId, ip);
    await writeAudit(
      tx,
      { userId, impersonatorId: null, ip },
      ofUser(userId, 'password.reset', { sessionsRevoked: revoked }),
    );
    await tellChanged(deps, tx, account);
    return forgetKeys;
  });
  forget?.();
  return forget !== undefined;
}

/**
 * Ends all other sessions, and with `revokeKeys` API keys, calendar feeds and approvals of apps, too. An account that
 * was activated without a password gets its first one in the session of its activation.
 */
async function changePassword(
  deps: AccountDeps,
  by: SessionActor,
  {
    oldPassword,
    password,
    revokeKeys = false,
  }: { oldPassword?: string | undefined; password: string; revokeKeys?: boolean | undefined },
): Promise<void> {
  const account = await mayChange(deps, by, oldPassword);
  const newHash = await deps.hash(password);
  const forget = await deps.sql.begin(async (tx) => {
    if (!(await store.replacePassword(tx, by.userId, account.passwordHash, newHash)))
      throw new AppError('conflict', 'The password was changed meanwhile: log in again');
    await codes.dropCodes(tx, by.userId); // a change of address that was asked for with the old password, too
    const revoked = await revokeSessions(tx, by.userId, by.sessionId);
    const forgetKeys = revokeKeys ? await revokeClientAccess(deps, tx, by.userId) : undefined;
    await writeAudit(
      tx,
      by,
      ofUser(by.userId, 'password.changed', { sessionsRevoked: revoked, ...(revokeKeys && { keysRevoked: true }) }),
    );
    await tellChanged(deps, tx, account);
    return forgetKeys;
  });
  forget?.();
}

/**
 * Asks the new address to confirm; without mail it counts at once. One answer for a free address and one that is
 * taken.
 */
async function changeEmail(
  deps: AccountDeps,
  by: SessionActor,
  change: { email: string; password: string },
): Promise<void> {
  const { disallowPlus, email, sql, frontendUrl } = deps;
  if (disallowPlus && hasPlus(change.email)) throw invalidField('email', 'addresses with a plus sign are not accepted');
  const account = await proven(deps, by.userId, change.password, 'password');
  if (account.email.toLowerCase() === change.email.toLowerCase())
    throw invalidField('email', 'this is your address already');
  const { name, userId } = account;
  if (!email.enabled) return changeAtOnce(deps, by, account, change.email);
  await sql.begin(async (tx) => {
    const { row, url } = makeCode('email', frontendUrl);
    await codes.insertOneTimeCode(tx, userId, row, { email: change.email });
    const taken = await store.isTaken(tx, change.email);
    await writeAudit(tx, by, ofUser(userId, 'email.change_requested'));
    await email.queue(tx, {
      to: account.email,
      orgId: null,
      content: { template: 'email-changing', data: { name, newEmail: change.email } },
    });
    // Whoever has the address is told of it; the answer is the same, so that nobody learns here which addresses are
    // known.
    const content = taken
      ? ({
          template: 'address-known',
          data: { name: '', loginUrl: `${frontendUrl.replace(/\/$/, '')}/auth/login` },
        } as const)
      : ({
          template: 'email-change',
          data: { name, url, newEmail: change.email, oldEmail: account.email },
        } as const);
    await email.queue(tx, { to: change.email, orgId: null, content });
  });
}

/**
 * The address becomes the user's; false for a code that is unknown, used, expired or of another user, or when
 * somebody has the address by now.
 */
async function confirmEmail({ sql }: AccountDeps, by: SessionActor, code: string): Promise<boolean> {
  try {
    return await sql.begin(async (tx) => {
      const redeemed = await codes.redeem(tx, 'email', sha256(code), by.userId);
      if (!redeemed?.email || !(await store.changeAddress(tx, redeemed.userId, redeemed.email))) return false;
      const { userId } = redeemed;
      await codes.dropCodes(tx, userId); // those that went to the old address
      await writeAudit(tx, by, ofUser(userId, 'email.changed'));
      return true;
    });
  } catch (error) {
    if (store.isAddressTaken(error)) return false;
    throw error;
  }
}

/**
 * Ends the account, its sessions and its keys. Who logs in elsewhere has no password and must have logged in a moment
 * ago. `close` ends an org if it still has no other member, with all that is paid and planned there; each is over before
 * the account is.
 */
async function remove(
  deps: AccountDeps,
  by: SessionActor,
  password: string | undefined,
  close: (orgId: string) => Promise<void>,
): Promise<void> {
  const { sql, identity } = deps;
  const { userId } = by;
  const account = await store.findAccount(sql, userId);
  if (!account) throw notFound();
  if (account.passwordHash !== null) {
    if (password === undefined) throw invalidField('password', 'is required', 'required');
    await proven(deps, userId, password, 'password');
  } else {
    if (!(await isFresh(deps, by))) throw new AppError('conflict', 'Log in again first, then delete the account');
  }
  // those of now: closing the only one makes another, in which there is nothing to be closed
  const known = new Set((await identity.organizationsOf(userId)).map(({ id }) => id));
  let forget: (() => void) | undefined;
  while (!forget) {
    for (const { id } of await identity.ownedAlone(userId)) if (known.has(id)) await close(id);
    forget = await sql.begin(async (tx) => {
      // of two owners who leave at the same moment the second one has to close what was not alone at the look
      const alone = await identity.ownedAloneWithin(tx, userId);
      return alone.some(({ id }) => known.has(id)) ? undefined : end(deps, tx, by, userId);
    });
  }
  forget();
}

/**
 * Ends an account in the caller's transaction, by its user or an operator; the organizations that nobody else belongs to
 * go with it. Answers what this process forgets once it is committed.
 * @throws AppError `conflict` for the last owner of an organization with other members, and for the last super-admin
 */
async function end({ identity, apiKeys }: AccountDeps, tx: Sql, by: AuditActor, userId: string): Promise<() => void> {
  const left = await identity.remove(tx, userId);
  await codes.dropCodes(tx, userId);
  await revokeSessions(tx, userId);
  const forgetKeys = await apiKeys.revokeAllOf(tx, userId);
  for (const orgId of [null, ...left])
    await writeAudit(tx, by, { orgId, action: 'user.deleted', resource: 'user', resourceId: userId });
  return forgetKeys;
}

/** Changes of credentials by the user. `by` is the user, in the session `sessionId`. */
export const openAccounts = (deps: AccountDeps) =>
  bind(deps, { reset, changePassword, changeEmail, confirmEmail, end, remove });
