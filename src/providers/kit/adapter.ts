import type { z } from 'zod';
import type { Clock, ProviderFailure } from '../../kernel/index.ts';
export type { Clock };
import type { Fields, ValuesOf } from './fields.ts';
import type { Auth, Http } from './http.ts';
import type { Sockets } from './sockets.ts';

export const DOMAINS = ['ai', 'media', 'storage', 'shortlink', 'social', 'vpn', 'contentpack', 'email', 'auth'] as const;
export type Domain = (typeof DOMAINS)[number];
export type Lifecycle = 'preview' | 'active' | 'deprecated' | 'retired';
export type AuthType = 'oauth2' | 'oauth1' | 'api_key' | 'basic' | 'app_password' | 'aws_sigv4' | 'service_account' | 'wallet' | 'password' | 'none';

/** What every adapter declares: identity, catalog card, and how to reach the provider. */
export interface Manifest<F extends Fields = Fields> {
  id: string;
  version: `v${number}`;
  title: string;
  description: string;
  website?: string;
  /** Default: active. */
  status?: Lifecycle;
  deprecatedAt?: string;
  sunsetAt?: string;
  /** Registered only where the operator enables it (`SANDBOX_ENABLED`). */
  optional?: 'sandbox';
  authType: AuthType;
  setupNotes?: string;
  credentials: F;
  /** Base URL; `{field}` is filled from the credentials. */
  api: string;
  auth?: Auth<Extract<keyof F, string>>;
  /** Where the status means something else than usual. */
  errors?: Readonly<Record<number, ProviderFailure>>;
  /** Where the body of a refusal says more than its status: the body parsed with this is the failure that it yields. */
  errorOf?: z.ZodType<ProviderFailure>;
  /** A 200 whose body parses with this is the failure that it yields. */
  errorInside?: z.ZodType<ProviderFailure>;
  /** How long one call may take. Default 30 s (`TIMEOUT_MS`). */
  timeoutMs?: number;
}

export const TIMEOUT_MS = 30_000;

/** `account`: the connected account at the provider. `token`: its access token, where there is one. */
export interface Connection<F extends Fields = Fields> {
  http: Http;
  sockets: Sockets;
  clock: Clock;
  /** How long one exchange may take. */
  timeoutMs: number;
  values: ValuesOf<F>;
  account: string;
  token: string | undefined;
}
export interface Adapter<Contract, F extends Fields = Fields> extends Manifest<F> {
  domain: Domain;
  capabilities: readonly string[];
  connect(connection: Connection<F>): Contract;
}
