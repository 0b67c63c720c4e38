import type { z } from 'zod';
import type { Body } from '../declare/media.ts';
import type { Multipart } from '../protocols/multipart.ts';

export interface Call {
  query?: Record<string, string | undefined>;
  json?: unknown;
  form?: Record<string, string>;
  /** A form with files, read while it is sent. */
  multipart?: Multipart;
  /** A file as the whole body, read while it is sent. */
  bytes?: Body;
  headers?: Readonly<Record<string, string>>;
  /** Headers of the answer, in lower case, that the reply's schema reads as `headers` beside the body. */
  replyHeaders?: readonly string[];
  /** Greatest length of the answer, which is held in memory as a whole. Default 1 MiB. */
  answerBytes?: number;
  /** Stable for one attempt series: the provider answers a repeat with the first result. */
  idempotencyKey?: string;
  /** This call makes something public or costs money: no answer, 408 or 5xx means `lost`, and nothing below repeats it. */
  creates?: true;
}

/**
 * Bound to one connection: base URL, credentials, outbound guard, timeout, retries of safe calls, redaction and the
 * mapping of failures lie behind it. A reply is always parsed; one that does not fit is `lost` for a creating call,
 * else `unavailable`. A path may be absolute (`https://…`) where a provider has several hosts; the credential goes to
 * the origin of the base URL only.
 */
export interface Http {
  get<S extends z.ZodType>(path: string, reply: S, call?: Call): Promise<z.output<S>>;
  /** Undefined when it is not there: 404, or a refusal whose body parses with `absent`. Asked by POST where there is `json` to ask with. */
  find<S extends z.ZodType>(path: string, reply: S, call?: Call & { absent?: z.ZodType }): Promise<z.output<S> | undefined>;
  post<S extends z.ZodType>(path: string, reply: S, call?: Call): Promise<z.output<S>>;
  put<S extends z.ZodType>(path: string, reply: S, call?: Call): Promise<z.output<S>>;
  /** What is gone already counts as deleted. */
  delete(path: string, call?: Call): Promise<void>;
}

/** Where the credential goes. */
export type Auth<K extends string = string> =
  | { in: 'header'; name: string; prefix: string; field: K }
  | { in: 'query'; name: string; field: K }
  | { in: 'token' }; // the channel's own access token as Bearer
