import type { Billing } from '../../entitlements/index.ts';
import type { Database } from '../../platform/db/index.ts';
import type { Email } from '../../delivery/email/index.ts';
import type { Identity } from '../identity/index.ts';
import { type Clock, hmacHex } from '../../platform/kernel/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import { type Accounts, openAccounts } from './account.ts';
import { type ApiKeys, openApiKeys } from './api-keys.ts';
import { dropExpiredCodes } from './code-store.ts';
import { openAuthTokens, type AuthTokens } from './jwt.ts';
import { hashChosen } from './password.ts';
import { type KnownBrowsers, openKnownBrowsers } from './known-browsers.ts';
import { type LoginAttempt, openPasswordLogin } from './login.ts';
import type { Approvals, CalendarFeeds, ProgramSpending } from './ports.ts';
import { forgetTraces } from './trace-store.ts';
import { openRegistrations, type Registrations } from './registration.ts';
import { type Browser, type SessionTokens, openSessions, type Sessions } from './sessions.ts';

/** Authentication of users and of clients. */
export interface AuthRoom extends Registrations {
  readonly accounts: Accounts;
  readonly sessions: Sessions;
  readonly apiKeys: ApiKeys;
  readonly knownBrowsers: KnownBrowsers;
  readonly tokens: Pick<
    AuthTokens,
    | 'verifyExtension'
    | 'signImpersonation'
    | 'verifyImpersonation'
    | 'signUnsubscribe'
    | 'verifyUnsubscribe'
    | 'signCollaboration'
    | 'verifyCollaboration'
  >;
  /** One answer, in one time, for an unknown address, a wrong password and another provider. */
  login(attempt: LoginAttempt, browser: Browser): Promise<SessionTokens>;
  /** The rate-limit bucket of one address, whether it has a user or not. */
  accountBucket(email: string): string;
  /** Forgets codes that were never used, at most `limit`; answers how many. */
  dropExpiredCodes(limit: number): Promise<number>;
  /**
   * Forgets from where users, uses of sessions and acts in the audit log came, after IP_RETENTION_DAYS; at most `limit`
   * of each, answers how many of the more.
   */
  forgetTraces(limit: number): Promise<number>;
}

interface Options {
  sql: Database;
  clock: Clock;
  identity: Identity;
  billing: Pick<Billing, 'require'>;
  approvals: Approvals;
  feeds: CalendarFeeds;
  spending: ProgramSpending;
  email: Email;
  jwtSecret: string;
  frontendUrl: string;
  disallowPlus: boolean;
  refusedPasswords: readonly string[];
  /** Days for which address and agent are kept. */
  tracesDays: number;
  log: Pick<Log, 'warn'>;
  /** Told when what is written behind an answer could not be written. */
  failed: (error: unknown) => void;
}

export function openAuth({
  sql,
  clock,
  identity,
  billing,
  approvals,
  feeds,
  spending,
  email,
  jwtSecret,
  frontendUrl,
  disallowPlus,
  refusedPasswords,
  tracesDays,
  log,
  failed,
}: Options): AuthRoom {
  const tokens = openAuthTokens({ secret: jwtSecret, clock, log });
  const sessions = openSessions({ sql, clock, tokens, secret: jwtSecret, failed });
  const apiKeys = openApiKeys({ sql, clock, failed, billing, spending, email });
  const hash = hashChosen(refusedPasswords);
  const registrations = openRegistrations({
    sql,
    identity,
    email,
    sessions,
    hash,
    frontendUrl,
    disallowPlus,
    log,
    failed,
  });

  return {
    ...registrations,
    accounts: openAccounts({
      sql,
      clock,
      identity,
      email,
      apiKeys,
      approvals,
      feeds,
      hash,
      frontendUrl,
      disallowPlus,
    }),
    sessions,
    apiKeys,
    knownBrowsers: openKnownBrowsers(jwtSecret),
    tokens,
    login: openPasswordLogin({ sql, sessions }),
    accountBucket: (address) => `account:${hmacHex(jwtSecret, `bucket of an account|${address.toLowerCase()}`)}`,
    dropExpiredCodes: (limit) => dropExpiredCodes(sql, limit),
    forgetTraces: (limit) => forgetTraces(sql, tracesDays, limit),

    async [Symbol.asyncDispose]() {
      await registrations[Symbol.asyncDispose]();
      await sessions[Symbol.asyncDispose]();
      await apiKeys[Symbol.asyncDispose]();
    },
  };
}
