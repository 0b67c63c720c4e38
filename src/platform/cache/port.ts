/** What a request is counted against: a fixed window of `windowMs` that starts with its first request. */
export interface RateBucket {
  bucket: string;
  limit: number;
  windowMs: number;
}

/** One request counted against a bucket. `resetAt` is when the bucket starts again. */
export interface Hit {
  allowed: boolean;
  remaining: number;
  resetAt: Date;
}

/**
 * What several processes share for a while: short-lived values, live messages, and the counters of the rate limits.
 * Anything in it may be lost at any moment; facts are in Postgres. Implemented by `memory.ts` (one process) and
 * `redis.ts` (many).
 */
export interface Cache extends AsyncDisposable {
  readonly kind: 'memory' | 'redis';
  /**
   * The value, or undefined when there is none. Rejects with `unavailable` while the store cannot be reached, as `set`
   * and `delete` do.
   */
  get(key: string): Promise<string | undefined>;
  /** Keeps a value for `ttlMs` milliseconds. */
  set(key: string, value: string, ttlMs: number): Promise<void>;
  delete(key: string): Promise<void>;
  /**
   * Live fan-out, to every process and this one. At most once: what is sent while the store is away is lost. Answers how
   * many processes hear the channel, undefined while nobody knows: one that was killed hears nothing any more.
   */
  publish(channel: string, message: string): Promise<number | undefined>;
  /** Hears a channel until disposed. A handler that throws is logged and hears the next message all the same. */
  subscribe(channel: string, handler: (message: string) => void): Promise<AsyncDisposable>;
  /**
   * Counts one request against a fixed window of `windowMs` that starts with its first request.
   * Never rejects: while the store is away each process counts for itself, and `health` says so.
   */
  hit(bucket: string, limit: number, windowMs: number): Promise<Hit>;
  /**
   * Counts one request against several buckets at once; where one refuses it, the others are left as they were: a
   * request that is refused uses up nothing of anybody else. Never rejects, as `hit`.
   */
  hitAll(buckets: readonly RateBucket[]): Promise<Hit[]>;
  /**
   * Takes a key for a holder, or prolongs what the holder has; false while another one has it. It is free again after
   * `ttlMs` milliseconds, or when it is deleted. Rejects as `get` does.
   */
  claim(key: string, holder: string, ttlMs: number): Promise<boolean>;
  /** One round trip; rejects when the store does not answer, or would not count. */
  ping(): Promise<void>;
  /** `limitsShared` is false while the rate limits count in this process alone although a store was configured. */
  health(): { limitsShared: boolean; awaySince: Date | undefined };
}

export interface CacheOptions {
  /** In front of every key and channel. */
  prefix?: string;
  /** Told when the store went away (with the reason) or came back, and when a handler of a message threw. */
  onChange?: (state: 'away' | 'back', reason?: string) => void;
  onHandlerError?: (channel: string, error: unknown) => void;
}
