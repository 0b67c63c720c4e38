import type { z } from 'zod';
import type { Body } from '../declare/media.ts';
import type { Multipart } from '../protocols/multipart.ts';

/** A value by name, or several under one name in their order; undefined ones are left out. */
export type Named = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface Call {
  query?: Named;
  /** A part of the query as it is sent, encoded already: `ids=List(urn%3Ali%3Aperson%3A1)`. */
  rawQuery?: string;
  json?: unknown;
  form?: Named;
  /** A form with files, read while it is sent. */
  multipart?: Multipart;
  /** A file as the whole body, read while it is sent. */
  bytes?: Body;
  headers?: Readonly<Record<string, string>>;
  /** Headers of the answer, in lower case, that the reply's schema reads as `headers` beside the body. */
  replyHeaders?: readonly string[];
  /** The reply's schema reads the HTTP status as `status` beside the body. */
  replyStatus?: true;
  /** Statuses outside 2xx that are an answer here, not a refusal: 308 of an upload that is not complete. */
  accepts?: readonly number[];
  /** Greatest length of the answer, which is held in memory as a whole. Default: `ANSWER_BYTES`. */
  answerBytes?: number;
  /** Milliseconds that this call may take, beside the sending of a file (`UPLOAD`). Default: those of the adapter. */
  timeoutMs?: number;
  /** Idempotency key: stable over attempts, so that the provider answers a repeat with the first result. */
  idempotencyKey?: string;
  /**
   * The call publishes something or costs money: without an answer, and after 408 or 5xx, it is `lost` and never
   * repeated here.
   */
  creates?: true;
}

type Asking = <S extends z.ZodType>(path: string, reply: S, call?: Call) => Promise<z.output<S>>;

/**
 * Calls of one connection. Base URL, credentials, outbound guard, timeout, retries of safe calls, redaction and the
 * mapping of failures are applied to each. A reply is always parsed; one that does not parse is `lost` for a creating
 * call, else `unavailable`. A path is `rejected` where it would lead elsewhere, by dots or backslashes in an id; it may
 * be absolute (`https://…`) where a provider has several hosts. A credential is sent to the origin of the base URL only,
 * or to that of the host that it names.
 */
export interface Http {
  get: Asking;
  /**
   * Answers undefined for 404, 410 and a refusal whose body parses with `absent`, which reads what `errorOf` reads.
   * Sent by POST where there is `json`.
   */
  find<S extends z.ZodType>(
    path: string,
    reply: S,
    call?: Call & { absent?: z.ZodType },
  ): Promise<z.output<S> | undefined>;
  post: Asking;
  put: Asking;
  patch: Asking;
  /** A resource that is gone already counts as deleted. */
  delete(path: string, call?: Call): Promise<void>;
}

/** A value of a credential: a field, several joined by colons, the access token of the channel, a value of the app, or constant text. */
type Value<K extends string> =
  | { field: K }
  | { fields: readonly K[] }
  | { token: true }
  | { app: keyof AppValues }
  | { text: string };

/** The app at a network, as far as its calls send it. */
export interface AppValues {
  clientId?: string | undefined;
  clientSecret?: string | undefined;
  botToken?: string | undefined;
}

/**
 * A credential in a request: its place and its value. One without a value is not sent. `form` adds it to the form of a
 * call, or to the query of a call without one. `host` names one of `hosts`, which gets it instead of the base URL.
 */
export type Auth<K extends string = string> = { host?: string } & (
  | ({ in: 'header' | 'query' | 'form'; name: string; prefix?: string } & Value<K>)
  | { in: 'basic'; user: Value<K>; password: Value<K> }
  | { in: 'token' } // the channel's own access token as Bearer
);
