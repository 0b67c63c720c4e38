import { writeAudit } from '../../platform/audit/index.ts';
import type { Database } from '../../platform/db/index.ts';
import { AppError, sha256 } from '../../platform/kernel/index.ts';
import { type LocalAccount, holdPassword, localAccount, replacePassword } from './account-store.ts';
import { locked } from '../identity/index.ts';
import { hashPassword, isOutdated, NOBODY, verifyPassword } from './password.ts';
import type { Browser, SessionTokens, Sessions } from './sessions.ts';

export interface LoginAttempt {
  provider: string;
  email: string;
  password: string;
  /** The cookie of a registration in this browser. */
  browser?: string | undefined;
}

const refused = () => new AppError('invalid_request', 'Invalid user name or password');

/**
 * One answer after one work for an unknown address, a wrong password and another provider: one look, one hash, one note
 * (S32, X15).
 */
export function openPasswordLogin({ sql, sessions }: { sql: Database; sessions: Sessions }) {
  const note = (account: LocalAccount | undefined, reason: string, { ip }: Browser) =>
    writeAudit(
      sql,
      { userId: null, impersonatorId: null, ip },
      {
        orgId: null,
        action: 'login.refused',
        resource: 'user',
        resourceId: account?.userId ?? null,
        detail: { reason },
      },
    );

  async function login(attempt: LoginAttempt, device: Browser): Promise<SessionTokens> {
    const { provider, email, password, browser } = attempt;
    const account = await localAccount(sql, email, browser === undefined ? null : sha256(browser));
    const matches = await verifyPassword(password, account?.passwordHash ?? NOBODY);
    const isLocal = provider.toLowerCase() === 'local';
    if (!isLocal || !account || !matches) {
      await note(isLocal ? account : undefined, !isLocal ? 'provider' : account ? 'password' : 'unknown', device);
      throw refused();
    }
    if (!account.activated) {
      await note(account, account.locked ? 'locked' : 'not activated', device);
      throw account.locked
        ? locked()
        : new AppError('invalid_request', 'Activate this account first', { activate: true });
    }
    const { userId, passwordHash } = account;
    // A password that is changed meanwhile ends the sessions there are: one that begins now would outlive it.
    const credentials = await sql.begin(async (tx) =>
      (await holdPassword(tx, userId, passwordHash!)) ? sessions.start(userId, device, tx) : undefined,
    );
    if (!credentials) return login(attempt, device);
    if (isOutdated(passwordHash!)) await replacePassword(sql, userId, passwordHash!, await hashPassword(password));
    return credentials;
  }
  return login;
}
