import type { Adapter, Manifest, Setup } from '../kit/declare/adapter.ts';
import type { Fields } from '../kit/declare/fields.ts';
import type { Line } from '../kit/declare/line.ts';

/** The account of a person at a provider. A person is found again by `providerId` alone, never by the address. */
export interface Account {
  /** Stable and unique at the provider. */
  providerId: string;
  /** An address that the provider has verified; null where there is none. */
  email: string | null;
  name: string;
  /** Address as the provider gives it; checked before it is stored. */
  avatarUrl: string | null;
}

/** The start of a login. `verifier` is that of PKCE (RFC 7636), `nonce` that of OpenID Connect. */
export interface Start {
  state: string;
  nonce: string;
  verifier: string;
  redirectUri: string;
}
/**
 * The parameters that the consent page sent back, with those of the start. `iss` (RFC 9207): where the page sent one.
 */
export interface Returned extends Start {
  code: string;
  iss?: string | undefined;
}
/** The expected contents of a signed message: one nonce, and one of our own addresses. */
export interface Challenge {
  nonce: string;
  origins: readonly string[];
}
export interface SignedMessage extends Challenge {
  message: string;
  signature: string;
}

/**
 * A login by consent at the provider. `identify` throws `reauthorize` for a refused code, `rejected` for an invalid
 * answer or a wrong configuration.
 */
export interface Consent {
  by: 'consent';
  /** Answers the address of the consent page. */
  authorize(start: Start): Promise<string>;
  identify(returned: Returned): Promise<Account>;
}
/**
 * A login by the signature of a message that is valid for this login alone. A wrong one is `reauthorize`, without a
 * reason.
 */
export interface Proof {
  by: 'proof';
  /** Writes the text to sign; undefined where someone else writes it. `address` is that of the wallet. */
  message(challenge: Challenge & { address: string }): Promise<string | undefined>;
  verify(proof: SignedMessage): Promise<Account>;
}
/** A login by a password that is stored here. */
export interface Password {
  by: 'password';
}
export type Login = Consent | Proof | Password;

export type AuthLine<F extends Fields = Fields> = Line<'http' | 'fetch', F>;
export interface AuthFacts {
  login: Login['by'];
}

interface AuthSpec<F extends Fields> extends Manifest<F> {
  /** The kind of login (`Login.by`), known before a line is opened. */
  by: Login['by'];
  /** The provider is the operator's own: its people may register although `DISABLE_REGISTRATION` is set. */
  registersWhenClosed?: true;
  connect(line: AuthLine<F>): Login;
  check?(line: AuthLine<F>): Promise<string | void>;
}
export type AuthAdapter<F extends Fields = Fields> = AuthSpec<F> & Adapter<'auth', AuthFacts, AuthLine<F>, F>;

/** Shorter than usual: a person waits. */
const TIMEOUT_MS = 10_000;

/**
 * Declares a login provider. Its configuration belongs to the whole instance, since a person who logs in has no
 * organization yet. `oneOf` as in `Setup`.
 */
export const auth = <const F extends Fields>({ oneOf, ...spec }: AuthSpec<F> & Pick<Setup, 'oneOf'>): AuthAdapter => {
  const adapter: AuthAdapter<F> = {
    timeoutMs: TIMEOUT_MS,
    terse: true,
    ...spec,
    domain: 'auth',
    capabilities: ['login'],
    facts: { login: spec.by },
    ...(spec.by !== 'password' && {
      setup: { fields: spec.credentials, owners: ['instance'], ...(oneOf && { oneOf }) },
    }),
  };
  return adapter as unknown as AuthAdapter; // the registry checks values against the fields
};
