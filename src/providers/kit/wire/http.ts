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
  /** Greatest length of the answer, which is held in memory as a whole. Default: `ANSWER_BYTES`. */
  answerBytes?: number;
  /** Idempotency key: stable over attempts, so that the provider answers a repeat with the first result. */
  idempotencyKey?: string;
  /**
   * The call publishes something or costs money: without an answer, and after 408 or 5xx, it is `lost` and never
   * repeated here.
   */
  creates?: true;
}

/**
 * Calls of one connection. Base URL, credentials, outbound guard, timeout, retries of safe calls, redaction and the
 * mapping of failures are applied to each. A reply is always parsed; one that does not parse is `lost` for a creating
 * call, else `unavailable`. A path may be absolute (`https://…`) where a provider has several hosts; the credential is
 * sent to the origin of the base URL only.
 */
export interface Http {
  get<S extends z.ZodType>(path: string, reply: S, call?: Call): Promise<z.output<S>>;
  /**
   * Answers undefined for 404, 410 and a refusal whose body parses with `absent`, which reads what `errorOf` reads.
   * Sent by POST where there is `json`.
   */
  find<S extends z.ZodType>(
    path: string,
    reply: S,
    call?: Call & { absent?: z.ZodType },
  ): Promise<z.output<S> | undefined>;
  post<S extends z.ZodType>(path: string, reply: S, call?: Call): Promise<z.output<S>>;
  put<S extends z.ZodType>(path: string, reply: S, call?: Call): Promise<z.output<S>>;
  /** A resource that is gone already counts as deleted. */
  delete(path: string, call?: Call): Promise<void>;
}

/** The place of the credential in a request. */
export type Auth<K extends string = string> =
  | { in: 'header'; name: string; prefix: string; field: K }
  | { in: 'query'; name: string; field: K }
  | { in: 'token' }; // the channel's own access token as Bearer
