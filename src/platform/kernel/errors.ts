/** Every failure that a caller can see: stable code → HTTP status (S4). A new code starts here. */
export const STATUS = {
  invalid_request: 400,
  unknown_field: 400,
  validation_failed: 400,
  invalid_json: 400,
  unknown_domain: 400,
  unknown_version: 400,
  version_deprecated: 400,
  preview_not_allowed: 400,
  media_domain_not_allowed: 400,
  blocked_url: 400,
  invalid_content: 400,
  date_in_past: 400,
  billing_disabled: 400,
  oauth_app_exists: 400,
  unauthenticated: 401,
  invalid_api_key: 401,
  invalid_token: 401,
  no_subscription: 401,
  session_revoked: 401,
  limit_exceeded: 402,
  plan_required: 402,
  lifetime_no_addons: 402,
  forbidden: 403,
  csrf_failed: 403,
  super_admin_required: 403,
  insufficient_scope: 403,
  origin_not_allowed: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  idempotency_in_flight: 409,
  push_token_taken: 409,
  already_published: 409,
  version_retired: 410,
  link_expired: 410,
  too_large: 413,
  unsupported_media: 415,
  idempotency_mismatch: 422,
  rate_limited: 429,
  internal: 500,
  provider_failed: 502,
  unavailable: 503,
  busy: 503,
  draining: 503,
} as const satisfies Record<string, number>;
export type ErrorCode = keyof typeof STATUS;

/** One fault of an input: the field as a path (`posts.0.date`), the sentence for people, the rule that was broken. */
export interface FieldError {
  field: string;
  message: string;
  rule: string;
}

/** A fault whose message begins with the field; `sentence` goes on after it. An empty field is the body as a whole. */
export const fieldError = (field: string, sentence: string, rule: string): FieldError => ({
  field,
  message: `${field || 'body'}: ${sentence}`,
  rule,
});

/** A field that is not declared: its name and its path. */
export const unknownField = (name: string, field = name): FieldError => ({
  field,
  message: `property ${name} should not exist`,
  rule: 'unknown',
});

/**
 * Faults that one refusal names, and their bytes as JSON: a body can hold very many, and the answer must not be a
 * multiple of it.
 */
export const MOST_FAULTS = 100;
const FAULTS_BYTES = 48_000;

/** A text of at most `max` UTF-16 units, with an ellipsis where it was longer. */
const clip = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…`;

/** The first faults, shortened: what people send comes back in them. */
function bounded(errors: readonly FieldError[]): FieldError[] {
  const kept: FieldError[] = [];
  let bytes = 0;
  for (const { field, message, rule } of errors.slice(0, MOST_FAULTS)) {
    const fault = { field: clip(field, 200), message: clip(message, 300), rule };
    bytes += Buffer.byteLength(JSON.stringify(fault));
    if (bytes > FAULTS_BYTES) break;
    kept.push(fault);
  }
  return kept;
}

/**
 * A business error, its words bounded whatever went into them. It crosses an actor call as JSON and arrives as the same
 * error.
 */
export class AppError extends Error {
  override readonly name: string = 'AppError';
  readonly code: ErrorCode;
  readonly extra: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, extra: Record<string, unknown> = {}, options?: ErrorOptions) {
    super(clip(message, 1_000), options);
    this.code = code;
    this.extra = Array.isArray(extra['errors'])
      ? { ...extra, errors: bounded(extra['errors'] as FieldError[]) }
      : extra;
  }

  get status(): number {
    return STATUS[this.code];
  }

  /**
   * The error that crosses an actor call. `cause` stays here, in the log; the public body is made in
   * `api/http/errors.ts`.
   */
  toJSON(): { code: ErrorCode; message: string } {
    return { ...this.extra, code: this.code, message: this.message };
  }

  static fromJSON({ code, message, ...extra }: { code: ErrorCode; message: string }): AppError {
    return new AppError(code, message, extra);
  }
}

export const notFound = (what = 'Not found') => new AppError('not_found', what);
export const limitExceeded = (limit: string, max: number) =>
  new AppError('limit_exceeded', `Plan limit reached: ${limit} (${max})`, { limit, max });
export const busy = (retryAfterMs: number) =>
  new AppError('busy', 'Too much at once, try again shortly', { retryAfterMs });
/** Tells whether a queue was full: nothing was begun, and it may be tried again. */
export const isBusy = (error: unknown): error is AppError => error instanceof AppError && error.code === 'busy';
export const draining = () =>
  new AppError('draining', 'This host is going away, try again shortly', { retryAfterMs: 1_000 });

/**
 * A body or an actor input that breaks its schema. Unknown fields come first and give the code; `message` is that of
 * the first fault (S6, S7).
 */
export function validationFailed(errors: readonly FieldError[]): AppError {
  const isUnknown = ({ rule }: FieldError) => rule === 'unknown';
  const ordered = [...errors.filter(isUnknown), ...errors.filter((error) => !isUnknown(error))];
  const [first] = ordered;
  const code = first && isUnknown(first) ? 'unknown_field' : 'validation_failed';
  return new AppError(code, first?.message ?? 'Invalid input', {
    errors: ordered,
  });
}
/** The refusal of one field; `sentence` goes on after its name. */
export const invalidField = (field: string, sentence: string, rule = 'invalid') =>
  validationFailed([fieldError(field, sentence, rule)]);

/** The failures of a provider call. Actors decide what follows; adapters only say which. */
export const PROVIDER_FAILURES = [
  'reauthorize', //  the login or key was refused: a person must act
  'rate_limited', // later, at `retryAfterMs`
  'exhausted', //    quota or money used up at the provider
  'rejected', //     this content, for ever
  'unsupported', //  the provider does not offer it
  'unavailable', //  surely not done: safe to send again
  'lost', //         sent, no answer: nobody knows, look before sending again
] as const;
export type ProviderFailure = (typeof PROVIDER_FAILURES)[number];

/**
 * The reason of a failure, where it is known: content that is there already, an address that takes no mail, whoever
 * writes, or a fault of the provider's server.
 */
export type ProviderReason = 'duplicate' | 'bad_address' | 'server';

export class ProviderError extends AppError {
  override readonly name = 'ProviderError';
  readonly failure: ProviderFailure;
  readonly reason: ProviderReason | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(
    failure: ProviderFailure,
    message: string,
    options: ErrorOptions & { reason?: ProviderReason | undefined; retryAfterMs?: number | undefined } = {},
  ) {
    super('provider_failed', message, { failure }, options);
    this.failure = failure;
    this.reason = options.reason;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/**
 * Any thrown value as an error that callers may see; unknown ones become `internal`, with the cause kept for the log.
 */
export const asAppError = (thrown: unknown): AppError =>
  thrown instanceof AppError
    ? thrown
    : new AppError('internal', 'Something went wrong on our side', {}, { cause: thrown });
