/**
 * How long one call of a library may take, in milliseconds, and how many bytes its answer may have. Connecting has no
 * limit of its own here: the guard gives each connection of every call five seconds, within `headMs`.
 */
export interface WebFetchLimits {
  /** Until the head of the answer is there: names, connecting, the request with its body. */
  headMs: number;
  /** Between two pieces of the answer. */
  silenceMs: number;
  /** For everything together. */
  wholeMs: number;
  /** Of the answer, after it was unpacked. */
  bytes: number;
  /** The call costs money or makes something: without a whole answer it is `lost`. */
  creates?: true;
}

/** What a library is given as its key. Headers that hold it are not sent. */
export const PLACEHOLDER_KEY = 'placeholder-for-the-key';

/**
 * `fetch` of the web for libraries that call a provider: a `Request` or an address; texts, bytes, forms, blobs and
 * streams as bodies; the answer as a stream; `AbortSignal`. The line adds the credentials, which replace placeholders of
 * the library, and sends through the outbound guard; redirects are not followed. A refusal is thrown as the
 * `ProviderError` that `http` would throw. An answer that breaks off, is silent, or is too long, is an error of its
 * stream, never an end.
 */
export type WebFetch = (
  limits: WebFetchLimits,
) => (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
