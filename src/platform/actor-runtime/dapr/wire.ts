import { AppError, STATUS, type ErrorCode } from '../../kernel/index.ts';

/**
 * Present on an answer: its body is a business error. The status stays 200, all else daprd turns into an error of its
 * own.
 */
export const ERROR_HEADER = 'x-daprerrorresponseheader';
/**
 * On every answer of a host: the bytes of its body. Daprd 1.18.3 may answer 200 with nothing for a call that never
 * reached its app, where another call failed at the same moment (`middleware/http/pipeline.go` has one handler for all).
 */
export const LENGTH_HEADER = 'x-answer-bytes';
/** The same for every try of one call; the host runs it once. */
export const COMMAND_HEADER = 'x-command-id';
/** The id of the actor, percent-encoded, where the path holds only its digest. */
export const ID_HEADER = 'x-actor-id';
export const TOKEN_HEADER = 'dapr-api-token';
/** Shows that a call comes from a process of this instance: whoever has a sidecar reaches every actor. */
export const CALLER_HEADER = 'x-actor-caller';
/** Of W3C Trace Context; daprd passes it on, with a span of its own between where it traces. */
export const TRACE_HEADER = 'traceparent';

/** A value as it travels: JSON, and nothing at all for undefined. */
export const encode = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value));
export const decode = (text: string): unknown => (text === '' ? undefined : JSON.parse(text));

const isErrorBody = (body: unknown): body is { code: ErrorCode; message: string } =>
  body !== null &&
  typeof body === 'object' &&
  'code' in body &&
  'message' in body &&
  typeof body.code === 'string' &&
  body.code in STATUS &&
  typeof body.message === 'string';

/** The error in an answer's body, as the caller is to see it. */
export function errorFrom(text: string): AppError {
  try {
    const body: unknown = JSON.parse(text);
    if (isErrorBody(body)) return AppError.fromJSON(body);
  } catch {
    // not JSON: nothing that a host of ours wrote
  }
  return new AppError(
    'internal',
    'Something went wrong on our side',
    {},
    { cause: new Error(`Not an error body of a host: ${text.slice(0, 200)}`) },
  );
}

/** What rides along with a reminder: Dapr has no place for an owner, and none for a name that is too long. */
export interface Freight {
  data?: unknown;
  owner?: string | undefined;
  id?: string | undefined;
  name?: string | undefined;
}

/** A reminder's data travels as bytes, and what daprd hands on over HTTP is their base64 text. */
export const encodeFreight = (freight: Freight): Buffer => Buffer.from(JSON.stringify(freight), 'utf8');
/** A forged or foreign body carries nothing. */
export function decodeFreight(body: string): Freight {
  try {
    const sent: unknown = (JSON.parse(body) as { data?: unknown }).data;
    const freight = JSON.parse(Buffer.from(String(sent), 'base64').toString('utf8')) as Record<string, unknown>;
    const text = (key: string) => (typeof freight[key] === 'string' ? freight[key] : undefined);
    return { data: freight['data'], owner: text('owner'), id: text('id'), name: text('name') };
  } catch {
    return {};
  }
}
