import type { Database } from '../db/index.ts';
import { hasPlus, type Identity } from '../identity/index.ts';
import { AppError, type Clock, sha256Hex } from '../kernel/index.ts';
import { type ApiKeys, openApiKeys } from './api-keys.ts';
import { openTokens, type Tokens } from './jwt.ts';
import { hashPassword, NOBODY, verifyPassword } from './password.ts';
import { type Credentials, type Device, openSessions, type Sessions } from './sessions.ts';

export interface LocalRegistration {
  email: string;
  password: string;
  company: string;
  name?: string | undefined;
  timezone?: string | undefined;
}

/** How people and programs prove who they are. */
export interface Auth extends AsyncDisposable {
  readonly sessions: Sessions;
  readonly apiKeys: ApiKeys;
  readonly tokens: Pick<Tokens, 'verifyExtension'>;
  /** Makes the user and logs in. */
  register(person: LocalRegistration, device: Device): Promise<Credentials>;
  /** One answer, in one time, for an unknown address, a wrong password and another provider. */
  login(account: { provider: string; email: string; password: string }, device: Device): Promise<Credentials>;
  /** The rate-limit bucket of one account, whether it exists or not. */
  accountBucket(email: string): string;
}

interface Options {
  sql: Database;
  clock: Clock;
  identity: Identity;
  jwtSecret: string;
  disallowPlus: boolean;
  /** Told when a note of last use could not be written. */
  failed: (error: unknown) => void;
}

export function openAuth({ sql, clock, identity, jwtSecret, disallowPlus, failed }: Options): Auth {
  const tokens = openTokens({ secret: jwtSecret, clock });
  const sessions = openSessions({ sql, clock, tokens, secret: jwtSecret, failed });
  const apiKeys = openApiKeys({ sql, clock, failed });

  return {
    sessions,
    apiKeys,
    tokens,

    async register({ email, password, company, name = '', timezone = 'UTC' }, device) {
      if (disallowPlus && hasPlus(email)) throw new AppError('invalid_request', 'Addresses with a plus sign are not accepted');
      if (!(await identity.canRegister())) throw new AppError('invalid_request', 'Registration is disabled'); // before the costly hash; decided again in the commit
      const { userId } = await identity.register({ email, company, name, timezone, passwordHash: await hashPassword(password), ...device });
      return sessions.start(userId, device);
    },

    async login({ provider, email, password }, device) {
      const account = provider.toLowerCase() === 'local' ? await identity.localAccount(email) : undefined;
      const matches = await verifyPassword(password, account?.passwordHash ?? NOBODY);
      if (!account || !matches) throw new AppError('invalid_request', 'Invalid user name or password');
      if (!account.activated) throw new AppError('invalid_request', 'Activate this account first', { activate: true });
      return sessions.start(account.userId, device);
    },

    accountBucket: (email) => `account:${sha256Hex(email.toLowerCase())}`,

    async [Symbol.asyncDispose]() {
      await sessions[Symbol.asyncDispose]();
      await apiKeys[Symbol.asyncDispose]();
    },
  };
}
