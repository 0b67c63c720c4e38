import { writeAudit } from '../../platform/audit/index.ts';
import { type Database, isUnavailable, runEach, type Sql } from '../../platform/db/index.ts';
import type { Email } from '../../delivery/email/index.ts';
import { type Claim, hasPlus, type Identity } from '../identity/index.ts';
import { AppError, bind, newId, randomBase64url, sha256 } from '../../platform/kernel/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import * as accounts from './account-store.ts';
import * as codes from './code-store.ts';
import { makeCode } from './codes.ts';
import type { ChosenPasswordHash } from './password.ts';
import * as pending from './registration-store.ts';
import type { Browser, SessionTokens, Device, Sessions } from './sessions.ts';
import { revokeSessions } from './store.ts';

export interface LocalRegistration {
  email: string;
  password: string;
  company: string;
  name?: string | undefined;
  timezone?: string | undefined;
  claim: Claim;
}
/**
 * `browser`: what the browser has to bring when the mail is answered, so that the password counts that was typed in it.
 */
export type Registered = { credentials: SessionTokens } | { browser: string };

export type Registrations = ReturnType<typeof openRegistrations>;

export interface RegistrationOptions {
  sql: Database;
  identity: Identity;
  email: Email;
  sessions: Sessions;
  hash: ChosenPasswordHash;
  frontendUrl: string;
  disallowPlus: boolean;
  log: Pick<Log, 'warn'>;
  /** Told when requested mails could not be written; the sweep writes them. */
  failed: (error: unknown) => void;
}

interface RegistrationDeps extends RegistrationOptions {
  loginUrl: string;
  /** Mails that are being written behind their answers. */
  underway: Set<Promise<unknown>>;
}

const AT_ONCE = 20;

const mail = (
  { email }: RegistrationDeps,
  tx: Sql,
  to: { email: string; name: string },
  template: 'activation' | 'password-reset',
  url: string,
) => email.queue(tx, { to: to.email, orgId: null, content: { template, data: { name: to.name, url } } });

/**
 * The address has a user. As many statements as for a new one: who counts time learns nothing. False: the user was
 * deleted, activated or locked meanwhile, and nothing is kept.
 */
async function tellKnown(
  deps: RegistrationDeps,
  tx: Sql,
  person: {
    email: string;
    name: string;
    company: string;
    timezone: string;
    passwordHash: string;
    browserHash: Buffer;
    claim: Claim;
    ip: string;
  },
): Promise<boolean> {
  const { email, loginUrl, frontendUrl, identity } = deps;
  const account = await accounts.localAccount(tx, person.email);
  if (!account) return false;
  if (account.activated || account.locked) {
    await writeAudit(
      tx,
      { userId: null, impersonatorId: null, ip: person.ip },
      { orgId: null, action: 'user.registered_again', resource: 'user', resourceId: account.userId },
    );
    await email.queue(tx, {
      to: account.email,
      orgId: null,
      content: { template: 'address-known', data: { name: account.name, loginUrl } },
    });
    return true;
  }
  const { row, url } = makeCode('activate', frontendUrl);
  if (!(await pending.keepRegistration(tx, account.userId, row, person))) return false;
  if (person.claim.setupToken !== undefined) await identity.nominate(tx, account.userId, person.claim);
  await mail(deps, tx, { email: account.email, name: person.name }, 'activation', url);
  return true;
}

async function sendOne(
  deps: RegistrationDeps,
  tx: Sql,
  { kind, email: address, ip }: codes.MailRequest,
): Promise<void> {
  const { row, url } = makeCode(kind, deps.frontendUrl);
  const person = await codes.insertCodeFor(tx, address, row);
  if (!person) return;
  // to the stored address: another spelling may be somebody else's mailbox
  await mail(deps, tx, person, kind === 'reset' ? 'password-reset' : 'activation', url);
  const action = kind === 'reset' ? 'password.reset_requested' : 'activation.requested';
  await writeAudit(
    tx,
    { userId: null, impersonatorId: null, ip },
    { orgId: null, action, resource: 'user', resourceId: person.userId },
  );
}

/**
 * Writes the mails that were asked for, after `limit` tries at most; answers how many were written. A request that fails
 * stays, and holds up no other.
 */
async function sendRequested(deps: RegistrationDeps, limit: number): Promise<number> {
  const left: string[] = [];
  let sent = 0;
  while (sent + left.length < limit) {
    let taken = undefined as string | undefined;
    try {
      await deps.sql.begin(async (tx) => {
        const request = await codes.takeMailRequest(tx, left);
        taken = request?.id;
        if (request) await sendOne(deps, tx, request);
      });
      if (taken === undefined) break;
      sent += 1;
    } catch (err) {
      if (taken === undefined || isUnavailable(err)) throw err;
      deps.log.warn({ err, mailRequestId: taken }, 'a requested mail could not be written, tried again by the sweep');
      left.push(taken);
    }
  }
  return sent;
}

/**
 * Writes the mails that their processes did not write, and gives up those that could not be written for a day: the row
 * holds somebody's address, and who asked has asked again. Answers how many of the more, at most `limit` of each.
 */
async function sweepRequested(deps: RegistrationDeps, limit: number): Promise<number> {
  const sent = await sendRequested(deps, limit);
  const dropped = await codes.dropOldMailRequests(deps.sql, limit);
  if (dropped > 0) deps.log.warn({ dropped }, 'requested mails that could not be written for a day were given up');
  return Math.max(sent, dropped);
}

/**
 * Makes the user and logs in; or a mail has to be answered first, which says nothing about whether the address was
 * known (S30).
 */
async function register(
  deps: RegistrationDeps,
  { email: address, password, company, name = '', timezone = 'UTC', claim }: LocalRegistration,
  device: Browser,
): Promise<Registered> {
  const { disallowPlus, identity, sql, email, sessions, frontendUrl } = deps;
  if (disallowPlus && hasPlus(address))
    throw new AppError('invalid_request', 'Addresses with a plus sign are not accepted');
  await identity.requireOpen(claim); // before the costly hash; decided again in the commit
  const passwordHash = await deps.hash(password);
  const { ip, userAgent } = device;
  const person = { email: address, name, company, timezone, claim, ip, userAgent };
  const browser = randomBase64url(32);
  return sql.begin(async (tx): Promise<Registered> => {
    if (!email.enabled) {
      const added = await identity.register(tx, { ...person, passwordHash, activated: true });
      if (!added) throw new AppError('invalid_request', 'Email already exists');
      return { credentials: await sessions.start(added.userId, device, tx) };
    }
    const typed = { ...person, passwordHash, browserHash: sha256(browser) };
    for (let tries = 0; tries < 2; tries++) {
      const added = await identity.register(tx, { ...person, passwordHash: null, activated: false });
      if (added) {
        const { row, url } = makeCode('activate', frontendUrl);
        await pending.keepRegistration(tx, added.userId, row, typed);
        await mail(deps, tx, person, 'activation', url);
        break;
      }
      if (await tellKnown(deps, tx, typed)) break;
    }
    return { browser };
  });
}

/**
 * Logs in whoever has the code of an activation mail; undefined for one that is unknown, used or expired. The code
 * proves the mailbox and nothing else: in another browser than that of the registration the account opens without a
 * password.
 */
const activate = (
  { sql, identity, sessions }: RegistrationDeps,
  code: string,
  browser: string | undefined,
  device: Browser,
): Promise<(SessionTokens & { hasPassword: boolean }) | undefined> =>
  sql.begin(async (tx) => {
    const redeemed = await codes.redeem(tx, 'activate', sha256(code));
    const activated = redeemed && (await pending.activateRegistration(tx, redeemed.userId, sha256(browser ?? '')));
    if (!activated) return undefined;
    const { userId } = redeemed;
    await codes.dropCodes(tx, userId);
    await revokeSessions(tx, userId);
    await identity.becomeSuperAdmin(tx, userId, device.ip);
    await writeAudit(
      tx,
      { userId, impersonatorId: null, ip: device.ip },
      { orgId: null, action: 'user.activated', resource: 'user', resourceId: userId },
    );
    return { ...(await sessions.start(userId, device, tx)), ...activated };
  });

/**
 * Forgets who did not prove the address within seven days, and what was typed then, at most `limit` of each; answers
 * how many it looked at, of the more. One that cannot be deleted holds up no other.
 */
async function dropPending({ sql, log }: RegistrationDeps, limit: number): Promise<number> {
  const typed = await pending.dropTyped(sql, limit);
  const drop = (userIds: readonly string[]) => sql.begin((tx) => pending.dropForgotten(tx, userIds));
  const users = await runEach<string>(limit, {
    find: (most, tried) => pending.findForgotten(sql, most, tried),
    together: drop,
    work: (userId) => drop([userId]),
    failed: (err, userId) => log.warn({ err, userId }, 'a user without a proven address is not deleted, tried again'),
  });
  return Math.max(typed, users);
}

/** Asks for a mail to an address, whether it has a user or not. The mail is written behind the answer. */
async function requestMail(
  deps: RegistrationDeps,
  kind: 'activate' | 'reset',
  address: string,
  { ip }: Device,
): Promise<void> {
  const { email, sql, failed, underway } = deps;
  if (!email.enabled) return;
  await codes.insertMailRequest(sql, { id: newId(), kind, email: address, ip });
  const work = sendRequested(deps, AT_ONCE)
    .catch(failed)
    .finally(() => underway.delete(work));
  underway.add(work);
}

/** Registrations by address and password, and the mails that prove the address. */
export function openRegistrations(opened: RegistrationOptions) {
  const underway = new Set<Promise<unknown>>();
  const loginUrl = `${opened.frontendUrl.replace(/\/$/, '')}/auth/login`;
  const deps: RegistrationDeps = { ...opened, underway, loginUrl };
  return {
    ...bind(deps, { register, activate, dropPending, requestMail, sendRequested, sweepRequested }),
    async [Symbol.asyncDispose]() {
      await Promise.all(underway);
    },
  };
}
