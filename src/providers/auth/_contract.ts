import type { Adapter, Manifest, Setup } from '../kit/declare/adapter.ts';
import type { Fields } from '../kit/declare/fields.ts';
import type { Line } from '../kit/declare/line.ts';

/** Who somebody is at a provider. They are found again by `providerId` alone, never by the address. */
export interface Account {
  /** Stable and unique at the provider. */
  providerId: string;
  /** Only one that the provider vouches for; null where there is none. */
  email: string | null;
  name: string;
  /** As the provider tells it; judged where it is kept. */
  avatarUrl: string | null;
}

/** A login that begins. `verifier` is that of PKCE (RFC 7636), `nonce` that of OpenID Connect. */
export interface Start {
  state: string;
  nonce: string;
  verifier: string;
  redirectUri: string;
}
/** What the consent page sent back, with what the login began with. `iss` (RFC 9207): where the page told it. */
export interface Returned extends Start {
  code: string;
  iss?: string | undefined;
}
/** What a wallet signs is good for one nonce and for our own addresses. */
export interface Challenge {
  nonce: string;
  origins: readonly string[];
}
export interface SignedMessage extends Challenge {
  message: string;
  signature: string;
}

/** By consent at the provider. Of `identify`, a refused code is `reauthorize`; an answer that cannot be believed, or a wrong configuration, `rejected`. */
export interface Consent {
  by: 'consent';
  /** The address of the consent page. */
  authorize(start: Start): Promise<string>;
  identify(returned: Returned): Promise<Account>;
}
/** By a signature over a message that fits this login alone. What does not hold is `reauthorize`, without a reason. */
export interface Proof {
  by: 'proof';
  /** The text to be signed, where it can be written here; the address is the wallet's own. */
  message(challenge: Challenge & { address: string }): Promise<string | undefined>;
  verify(proof: SignedMessage): Promise<Account>;
}
/** By a password that is kept here. */
export interface Password {
  by: 'password';
}
export type Login = Consent | Proof | Password;

export type AuthLine<F extends Fields = Fields> = Line<'http' | 'fetch', F>;
export interface AuthFacts {
  login: Login['by'];
}

interface AuthSpec<F extends Fields> extends Manifest<F> {
  /** As `Login.by`, known before there is a connection. */
  by: Login['by'];
  /** The provider is the operator's own: its people may register although `DISABLE_REGISTRATION` is set. */
  registersWhenClosed?: true;
  connect(line: AuthLine<F>): Login;
  check?(line: AuthLine<F>): Promise<string | void>;
}
export type AuthAdapter<F extends Fields = Fields> = AuthSpec<F> & Adapter<'auth', AuthFacts, AuthLine<F>, F>;

/** A person waits. */
const TIMEOUT_MS = 10_000;

/** Declares a way to log in. Its configuration belongs to the whole instance: who logs in has no organization yet. `oneOf` as in `Setup`. */
export const auth = <const F extends Fields>({ oneOf, ...spec }: AuthSpec<F> & Pick<Setup, 'oneOf'>): AuthAdapter => {
  const adapter: AuthAdapter<F> = {
    timeoutMs: TIMEOUT_MS,
    terse: true,
    ...spec,
    domain: 'auth',
    capabilities: ['login'],
    facts: { login: spec.by },
    ...(spec.by !== 'password' && { setup: { fields: spec.credentials, owners: ['instance'], ...(oneOf && { oneOf }) } }),
  };
  return adapter as unknown as AuthAdapter; // values are checked against the fields before they come here
};
