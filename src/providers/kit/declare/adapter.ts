import type { z } from 'zod';
import type { ProviderFailure } from '../../../platform/kernel/index.ts';
export type { Clock } from '../../../platform/kernel/index.ts';
import type { Fields } from './fields.ts';
import type { Auth } from '../wire/http.ts';
import type { Line } from './line.ts';

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
  /** Default: preview. A version is released by saying `active`. */
  status?: Lifecycle;
  deprecatedAt?: string;
  sunsetAt?: string;
  /** Registered only where the operator enables it (`SANDBOX_ENABLED`, `*_SSO_ENABLED`). */
  optional?: 'sandbox' | 'sso';
  authType: AuthType;
  setupNotes?: string;
  credentials: F;
  /** Base URL; `{field}` is filled from the credentials. */
  api: string;
  /** The base URL by the value of the field `region`, where it is another one. */
  regions?: Readonly<Record<string, string>>;
  /** Base URLs of further servers that it asks, by name: of a directory, say. */
  hosts?: Readonly<Record<string, string>>;
  auth?: Auth<Extract<keyof F, string>>;
  /** Where the status means something else than usual. */
  errors?: Readonly<Record<number, ProviderFailure>>;
  /** Where the body of a refusal says more than its status: the body parsed with this is the failure that it yields. */
  errorOf?: z.ZodType<ProviderFailure>;
  /** Headers of a refusal, in lower case, that `errorOf` reads as `headers` beside the body. */
  errorHeaders?: readonly string[];
  /** A 200 whose body parses with this is the failure that it yields. */
  errorInside?: z.ZodType<ProviderFailure>;
  /** Of a refusal only its word is told (RFC 6749 5.2): the text may repeat what only one person may know. */
  terse?: true;
  /** How long one call may take. Default 30 s (`TIMEOUT_MS`). */
  timeoutMs?: number;
  /** What the catalog tells beside the operations. */
  facts?: Readonly<Record<string, unknown>>;
  /** `direct`: one brand with its own models, `hub`: many models, `action`: no model is chosen (PV3). */
  kind?: 'direct' | 'hub' | 'action';
  /** What it makes, of a provider of media. */
  mediaCategories?: readonly string[];
  /** The host of its links, where nobody brings one. */
  defaultDomain?: string;
  /** Absent: there is nothing to set. */
  setup?: Setup;
  /** Asks the provider whether it takes the values, and may answer what it says of them in a sentence; throws `ProviderError`. Absent: it cannot be asked. */
  check?(line: Line<F>): Promise<string | void>;
}

/** What is kept for an adapter in the settings of its owner: of the whole instance, of an organization, or of either. */
export interface Setup {
  fields: Fields;
  owners: readonly ('instance' | 'org')[];
  /** One of these groups of fields must be whole. */
  oneOf?: readonly (readonly string[])[];
}

export const TIMEOUT_MS = 30_000;
/** Of one answer: some hundred calls are under way at a time, each answered by a server that anybody may have named. */
export const ANSWER_BYTES = 1024 * 1024;

/** Of a channel. `account`: the connected account at the provider. `token`: its access token, where there is one. */
export interface Connection<F extends Fields = Fields> extends Line<F> {
  account: string;
  token: string | undefined;
}
export interface Adapter<Contract, F extends Fields = Fields> extends Manifest<F> {
  domain: Domain;
  capabilities: readonly string[];
  connect(connection: Connection<F>): Contract;
}
