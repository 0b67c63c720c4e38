import type { EgressRoute } from '../../platform/outbound/index.ts';
import type { Values } from '../kit/declare/fields.ts';
import type { App, SocialAdapter, Tokens } from './_contract.ts';

/** What every step of a login by consent is handed. Calls take `egressRoute`; undefined for the open one. */
interface Step {
  app: App;
  values: Values;
  egressRoute?: EgressRoute | undefined;
}
/**
 * `apart`: by a refresh token or the typed fields, also after the access token has expired. `itself`: by the access token
 * while it is valid. `needless`: no call takes the tokens, so their end means nothing.
 */
export type Renewal = 'none' | 'apart' | 'itself' | 'needless';
/** The start of a login: where the person consents, the state that comes back, and secrets that the end needs. */
export interface Begun {
  url: string;
  state: string;
  kept: Values;
}
export interface ReturnedLogin extends Step {
  redirectUri: string;
  code: string;
  state?: string | undefined;
  /** Of `Begun`. */
  kept?: Values;
  /** All parameters of the callback. */
  callback?: Values | undefined;
}

/** The logins of channels. Calls take `egressRoute`; undefined for the open one. */
export interface ChannelLogins {
  /**
   * Answers the app for this server: that of the organization (`own`, the values of its settings), else the operator's.
   * Undefined: register one (and store it), or consent is not offered.
   */
  ownApp(adapter: SocialAdapter, values: Values, own?: Values): App | undefined;
  /** Registers an app at the server in the values. Undefined where the network does not offer it. */
  registerApp(
    adapter: SocialAdapter,
    values: Values,
    redirectUri: string,
    egressRoute?: EgressRoute,
  ): Promise<App | undefined>;
  /** Begins a login. The caller stores the hash of `state`, and `kept` encrypted. */
  authorize(adapter: SocialAdapter, call: Step & { redirectUri: string; state: string }): Promise<Begun>;
  /**
   * Exchanges the code for tokens; a refused code throws `ProviderError` `reauthorize`. A scope that the person did not
   * grant is 400, with its name.
   */
  exchange(adapter: SocialAdapter, call: ReturnedLogin): Promise<Tokens>;
  /** Asks whether a person has approved (`approval`); undefined: not yet. */
  poll(adapter: SocialAdapter, call: Step & { kept: Values; callback: Values }): Promise<Tokens | undefined>;
  /** Ends a login at the network, where it can be ended alone. */
  revoke(adapter: SocialAdapter, call: Omit<Step, 'app'> & { app?: App | undefined; tokens: Tokens }): Promise<void>;
  /** Answers how these tokens can be renewed without a person. */
  renewalOf(adapter: SocialAdapter, tokens: Tokens | undefined): Renewal;
  /**
   * Exchanges typed fields for tokens; undefined where the fields are used as they are. Wrong credentials throw
   * `ProviderError` `reauthorize`.
   */
  signIn(adapter: SocialAdapter, values: Values, egressRoute?: EgressRoute): Promise<Tokens | undefined>;
  /**
   * Renews tokens of either login. A refusal is `reauthorize`, a network error `unavailable`. Undefined where there is
   * nothing to renew.
   */
  refresh(
    adapter: SocialAdapter,
    call: { values: Values; tokens: Tokens; app?: App | undefined; egressRoute?: EgressRoute | undefined },
  ): Promise<Tokens | undefined>;
}
