import type { z } from 'zod';
import type { ProviderFailure } from '../../../platform/kernel/index.ts';
export type { Clock } from '../../../platform/kernel/index.ts';
import type { Fields } from './fields.ts';
import type { Quota } from './waits.ts';
import type { Auth } from '../wire/http.ts';

export const DOMAINS = [
  'ai',
  'media',
  'storage',
  'shortlink',
  'social',
  'vpn',
  'contentpack',
  'email',
  'auth',
] as const;
export type Domain = (typeof DOMAINS)[number];
export type Lifecycle = 'preview' | 'active' | 'deprecated' | 'retired';
export type AuthType =
  | 'oauth2'
  | 'oauth1'
  | 'api_key'
  | 'basic'
  | 'app_password'
  | 'aws_sigv4'
  | 'service_account'
  | 'wallet'
  | 'password'
  | 'none';

/**
 * The part of a declaration that is the same in every domain: identity, credentials, and how the provider is reached.
 */
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
  /** Base URLs that replace `api` where a field has a value, by the name of the field; the first one counts. */
  apiBy?: Readonly<Partial<Record<Extract<keyof F, string>, string>>>;
  /** Base URLs that replace `api`, by the value of the field `region`. */
  regions?: Readonly<Record<string, string>>;
  /** Base URLs of further servers, by name, filled like `api`: for example of a directory. */
  hosts?: Readonly<Record<string, string>>;
  /** The credentials of each call, one or several. */
  auth?: Auth<Extract<keyof F, string>> | readonly Auth<Extract<keyof F, string>>[];
  /** Failures by status, where they differ from `failureOfStatus`. */
  errors?: Readonly<Record<number, ProviderFailure>>;
  /**
   * Reads the failure from the body of a refusal, with the HTTP status as `status` beside its fields (a text or a list
   * is the field `body`). What does not parse is left to the status.
   */
  errorOf?: z.ZodType<ProviderFailure>;
  /** Headers of a refusal, in lower case, that `errorOf` reads as `headers` beside the body. */
  errorHeaders?: readonly string[];
  /**
   * Reads from the body of a refusal for a rate the quota that is used up, where the answer does not say for how long
   * and a document does.
   */
  quotaOf?: z.ZodType<Quota>;
  /** Reads what `errorOf` reads, of a refused mail whose address takes none. */
  badAddressOf?: z.ZodType;
  /** Reads from the body of a refusal what a person can do about it, where the words of the provider do not say it. */
  adviceOf?: z.ZodType<string>;
  /** Fits the body, as `errorOf` reads it, of a refusal of content that is at the provider already. */
  duplicateOf?: z.ZodType;
  /** Reads a failure from the body of a 200; a body that does not parse is a success. */
  errorInside?: z.ZodType<ProviderFailure>;
  /**
   * Failures show only the `error` code of a refusal (RFC 6749 5.2): its text may repeat what only one person may know.
   */
  terse?: true;
  /** Milliseconds that one call may take, beside the sending of a file. Default: `TIMEOUT_MS`. */
  timeoutMs?: number;
}

/** The declaration of settings that an owner keeps for an adapter: the whole instance, an organization, or either. */
export interface Setup {
  fields: Fields;
  owners: readonly ('instance' | 'org')[];
  /** One of these groups of fields must be complete. */
  oneOf?: readonly (readonly string[])[];
}

/**
 * An adapter as the registry holds it; a domain adds its operations. `facts` are shown by the catalog, so nothing
 * private is among them. `L` is the line of the domain.
 */
export interface Adapter<D extends Domain, Facts extends object, L, F extends Fields = Fields> extends Manifest<F> {
  domain: D;
  capabilities: readonly string[];
  facts: Readonly<Facts>;
  /** Absent where there is nothing to set. */
  setup?: Setup;
  /**
   * Asks the provider whether it accepts the values; may answer a sentence about them. Throws `ProviderError`. Absent
   * where the provider cannot be asked.
   */
  check?(line: L): Promise<string | void>;
}

export const TIMEOUT_MS = 30_000;
/**
 * Greatest length of one answer: some hundred calls run at a time, each answered by a server that anybody may have
 * named.
 */
export const ANSWER_BYTES = 1024 * 1024;
