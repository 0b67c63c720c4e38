import type { components } from './schema.gen.ts';

/** The body of each refusal. */
export type Refusal = components['schemas']['Error'];

/**
 * `Retry-After` (RFC 9110, 10.2.3): seconds, or, of a proxy in front of the service, a date, from the moment that the
 * answer says of itself.
 */
function secondsOf(headers: Headers | undefined): number | undefined {
  const said = headers?.get('retry-after') ?? '';
  if (said === '') return undefined;
  const until = Date.parse(said) - Date.parse(headers?.get('date') ?? '');
  return /^\d+$/.test(said) ? Number(said) : Math.max(0, Math.ceil(until / 1_000));
}

/** The service answered, and refused. */
export class RookeryError extends Error {
  override readonly name = 'RookeryError';
  readonly status: number;
  /** Stable, for programs; undefined where something in front of the service answered. */
  readonly code: Refusal['code'] | undefined;
  /** Each fault of the input. */
  readonly faults: NonNullable<Refusal['errors']>;
  readonly retryAfterSeconds: number | undefined;
  readonly requestId: string | undefined;
  /** The whole body, with what only some refusals have: `url`, `limit`, `max`, `provider`, `name`. */
  readonly body: Partial<Refusal>;

  constructor(status: number, body: Partial<Refusal>, headers?: Headers) {
    super(body.message ?? `The service answered ${status}`);
    const wait = secondsOf(headers) ?? body.retryAfter ?? Number.NaN;
    this.status = status;
    this.code = body.code;
    this.faults = body.errors ?? [];
    this.retryAfterSeconds = wait >= 0 ? wait : undefined;
    this.requestId = headers?.get('x-request-id') ?? body.requestId;
    this.body = body;
  }
}

/** Nobody answered, or something else than the API. Whether the request had an effect is not known. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

/** The error of a request to which nobody answered; `why` absent: what broke it says so. */
export function unreachable(url: string, cause: unknown, why?: string): UnreachableError {
  const { cause: inner, message } = cause as Error;
  const reason = why ?? (inner as { code?: string } | undefined)?.code ?? message;
  return new UnreachableError(`${new URL(url).origin} cannot be reached: ${reason}`, { cause });
}

/** The error of an answer that does not come from the API: a page of a front end, of a login before a proxy. */
export const notOfApi = (what: string, cause?: unknown) =>
  new UnreachableError(`The answer ${what}: is this the address of the API?`, { cause });

/** The refusal in an answer: of the API, of OAuth, of MCP, or of a proxy in front of them. */
export async function refusalOf(answer: Response): Promise<RookeryError> {
  const text = await answer.text().catch(() => '');
  let body: { error?: unknown; error_description?: string } & Partial<Omit<Refusal, 'error'>>;
  try {
    body = JSON.parse(text) ?? {};
  } catch {
    body = {};
  }
  if (body.error_description !== undefined) body = { ...body, message: body.error_description };
  const data = (body.error as { data?: Partial<Refusal> } | undefined)?.data; // of JSON-RPC
  return new RookeryError(answer.status, data ?? (body as Partial<Refusal>), answer.headers);
}
