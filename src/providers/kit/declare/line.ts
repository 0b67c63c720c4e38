import type { Clock, ProviderError } from '../../../platform/kernel/index.ts';
import type { Fetch } from '../wire/fetch.ts';
import type { Fields, ValuesOf } from './fields.ts';
import type { Http } from '../wire/http.ts';
import type { Large } from '../wire/large.ts';
import type { OpenS3 } from '../protocols/s3.ts';
import type { Smtp } from '../protocols/smtp.ts';
import type { WebPages } from '../wire/web-pages.ts';
import type { Sockets } from '../wire/sockets.ts';
import type { Stream } from '../wire/stream.ts';
import type { WebFetch } from '../wire/web-fetch.ts';

/**
 * The tools that reach a provider, each behind the outbound guard, and the disk. A domain names those that its adapters
 * get.
 */
export interface Tools {
  http: Http;
  /** For answers of tens of megabytes, which go to files. */
  large: Large;
  /** For protocol libraries that bring their own calls. */
  fetch: Fetch;
  /** For libraries that speak a provider's own protocol: with its credentials, limits and failures. */
  webFetch: WebFetch;
  /** For bodies of any length. */
  stream: Stream;
  /** For pages and pictures of others that a text links to. */
  pages: WebPages;
  sockets: Sockets;
  smtp: Smtp;
  s3: OpenS3;
  /** The folder for files on this machine; undefined where there is none. */
  folder: string | undefined;
}
export type Tool = keyof Tools;

export interface HeldToken {
  /** On the monotonic clock, in milliseconds; endless while it is asked for. */
  until: number;
  token: Promise<string>;
}
/** Access tokens of one account, by the address that gave them. */
export interface HeldTokens {
  get(address: string): HeldToken | undefined;
  set(address: string, held: HeldToken): unknown;
  delete(address: string): unknown;
}

/** The part of a line that every domain has: the addresses of the provider and the values of the owner. */
interface Bound<F extends Fields> {
  /** `api`, filled. */
  base: string;
  /** `hosts` as declared, or the addresses that replace them. */
  hosts: Readonly<Record<string, string>>;
  values: ValuesOf<F>;
  clock: Clock;
  /** Removes a secret that was learned during a call, such as a token, from later failures. */
  hide(secret: string): void;
  /** Access tokens of this account, which outlive the connection; those of a check begin with none. */
  heldTokens: HeldTokens;
  /** Makes the failure of a refusal that came inside an answer, by the same rules as one that came by its status. */
  refusal(status: number, body: object): ProviderError;
  /** Milliseconds that one exchange may take. */
  timeoutMs: number;
}

/**
 * The argument of an adapter's operations: the tools of its domain and the owner's values. Each domain exports its own
 * (`AuthLine`).
 */
export type Line<T extends Tool, F extends Fields = Fields> = Bound<F> & Pick<Tools, T>;

/** The owner of a connection, an organization or with null the whole instance, and the checked fields. */
export interface Use {
  orgId: string | null;
  values: Readonly<Record<string, string>>;
}
