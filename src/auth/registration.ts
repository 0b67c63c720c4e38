import { noteAudit } from '../audit/index.ts';
import type { Database, Sql } from '../db/index.ts';
import type { Email } from '../email/index.ts';
import { hasPlus, type Identity } from '../identity/index.ts';
import { AppError, newId, sha256 } from '../kernel/index.ts';
import * as accounts from './account-store.ts';
import * as codes from './code-store.ts';
import { makeCode } from './codes.ts';
import { hashPassword } from './password.ts';
import type { Credentials, Device, Sessions } from './sessions.ts';

export interface LocalRegistration {
  email: string;
  password: string;
  company: string;
  name?: string | undefined;
  timezone?: string | undefined;
}

export interface Registrations {
  /** Makes the user and logs in; undefined when a mail has to be answered first, which says nothing about whether the address was known (S30). */
  register(person: LocalRegistration, device: Device): Promise<Credentials | undefined>;
  /** Logs in whoever has the code of an activation mail; undefined for one that is unknown, used or expired. */
  activate(code: string, device: Device): Promise<Credentials | undefined>;
  /** Asks for a mail to an address, whether it has a user or not. The mail is written behind the answer. */
  requestMail(kind: 'activate' | 'reset', email: string, device: Device): Promise<void>;
  /** Writes the mails that were asked for, at most `limit`; answers how many requests there were. */
  sendRequested(limit: number): Promise<number>;
}

export interface RegistrationOptions {
  sql: Database;
  identity: Identity;
  email: Email;
  sessions: Sessions;
  frontendUrl: string;
  disallowPlus: boolean;
  /** Told when requested mails could not be written; the sweep writes them. */
  failed: (error: unknown) => void;
}

const AT_ONCE = 20;

export function openRegistrations({ sql, identity, email, sessions, frontendUrl, disallowPlus, failed }: RegistrationOptions): Registrations & AsyncDisposable {
  const underway = new Set<Promise<unknown>>();
  const loginUrl = `${frontendUrl.replace(/\/$/, '')}/auth/login`;
  const mail = (tx: Sql, to: { email: string; name: string }, template: 'activation' | 'password-reset', url: string) =>
    email.queue(tx, { to: to.email, orgId: null, letter: { template, data: { name: to.name, url } } });

  /** The address has a user. As many statements as for a new one: who counts time learns nothing. */
  async function tellKnown(
    tx: Sql,
    person: { email: string; name: string; company: string; timezone: string; passwordHash: string; ip: string },
  ): Promise<void> {
    const account = await accounts.localAccount(tx, person.email);
    if (!account) return; // deleted meanwhile
    if (account.activated || account.locked) {
      await noteAudit(
        tx,
        { userId: null, impersonatorId: null, ip: person.ip },
        { orgId: null, action: 'user.registered_again', resource: 'user', resourceId: account.userId },
      );
      return email.queue(tx, { to: account.email, orgId: null, letter: { template: 'address-known', data: { name: account.name, loginUrl } } });
    }
    const { row, url } = makeCode('activate', frontendUrl);
    await codes.registerAgain(tx, account.userId, row, person);
    await mail(tx, { email: account.email, name: person.name }, 'activation', url);
  }

  async function sendOne(tx: Sql, { kind, email: address, ip }: codes.MailRequest): Promise<void> {
    const { row, url } = makeCode(kind, frontendUrl);
    const person = await codes.insertCodeFor(tx, address, row);
    if (!person) return;
    await mail(tx, person, kind === 'reset' ? 'password-reset' : 'activation', url); // to the stored address: another spelling may be somebody else's mailbox
    const action = kind === 'reset' ? 'password.reset_requested' : 'activation.requested';
    await noteAudit(tx, { userId: null, impersonatorId: null, ip }, { orgId: null, action, resource: 'user', resourceId: person.userId });
  }

  const sendNext = () =>
    sql.begin(async (tx) => {
      const request = await codes.takeMailRequest(tx);
      if (request) await sendOne(tx, request);
      return request !== undefined;
    });
  async function sendRequested(limit: number): Promise<number> {
    let sent = 0;
    while (sent < limit && (await sendNext())) sent += 1;
    return sent;
  }

  return {
    async register({ email: address, password, company, name = '', timezone = 'UTC' }, { ip, userAgent }) {
      if (disallowPlus && hasPlus(address)) throw new AppError('invalid_request', 'Addresses with a plus sign are not accepted');
      if (!(await identity.canRegister())) throw new AppError('invalid_request', 'Registration is disabled'); // before the costly hash; decided again in the commit
      const person = { email: address, name, company, timezone, passwordHash: await hashPassword(password), ip, userAgent };
      return sql.begin(async (tx) => {
        const added = await identity.register(tx, { ...person, activated: !email.enabled });
        if (!email.enabled) {
          if (!added) throw new AppError('invalid_request', 'Email already exists');
          return sessions.start(added.userId, { ip, userAgent }, tx);
        }
        if (added) {
          const { row, url } = makeCode('activate', frontendUrl);
          await codes.insertCode(tx, added.userId, row, { passwordHash: person.passwordHash });
          await mail(tx, person, 'activation', url);
        } else await tellKnown(tx, person);
        return undefined;
      });
    },

    activate: (code, device) =>
      sql.begin(async (tx) => {
        const redeemed = await codes.redeem(tx, 'activate', sha256(code));
        if (!redeemed || !(await accounts.activate(tx, redeemed.userId, redeemed.passwordHash))) return undefined;
        const { userId } = redeemed;
        await codes.dropCodes(tx, userId, 'activate');
        await noteAudit(tx, { userId, impersonatorId: null, ip: device.ip }, { orgId: null, action: 'user.activated', resource: 'user', resourceId: userId });
        return sessions.start(userId, device, tx);
      }),

    async requestMail(kind, address, { ip }) {
      if (!email.enabled) return;
      await codes.insertMailRequest(sql, { id: newId(), kind, email: address, ip });
      const work = sendRequested(AT_ONCE)
        .catch(failed)
        .finally(() => underway.delete(work));
      underway.add(work);
    },

    sendRequested,

    async [Symbol.asyncDispose]() {
      await Promise.all(underway);
    },
  };
}
