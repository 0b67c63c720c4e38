import { AppError, STATUS, type ErrorCode } from '../../kernel/index.ts';

/** Present on an answer: its body is a business error. The status stays 200, all else daprd turns into an error of its own. */
export const ERROR_HEADER = 'x-daprerrorresponseheader';
/** The same for every try of one call; the host runs it once. */
export const COMMAND_HEADER = 'x-command-id';
export const TOKEN_HEADER = 'dapr-api-token';

/** A value as it travels: JSON, and nothing at all for undefined. */
export const encode = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value));
export const decode = (text: string): unknown => (text === '' ? undefined : JSON.parse(text));

const isErrorBody = (body: unknown): body is { code: ErrorCode; message: string } =>
  body !== null && typeof body === 'object' && 'code' in body && 'message' in body && typeof body.code === 'string' && body.code in STATUS && typeof body.message === 'string';

/** The error in an answer's body, as the caller is to see it. */
export function errorFrom(text: string): AppError {
  try {
    const body: unknown = JSON.parse(text);
    if (isErrorBody(body)) return AppError.fromJSON(body);
  } catch {
    // not JSON: nothing that a host of ours wrote
  }
  return new AppError('internal', 'Something went wrong on our side', {}, { cause: new Error(`Not an error body of a host: ${text.slice(0, 200)}`) });
}

/**
 * A reminder's data travels as bytes, and what daprd hands on over HTTP is their base64 text.
 * `owner` rides along, because Dapr has no place for it. A forged or foreign body is no data at all.
 */
export const encodeHint = (data: unknown, owner: string | undefined): Buffer => Buffer.from(JSON.stringify({ data, owner }), 'utf8');
export function decodeHint(body: string): { data: unknown; owner: string | undefined } {
  try {
    const sent: unknown = (JSON.parse(body) as { data?: unknown }).data;
    const hint = JSON.parse(Buffer.from(String(sent), 'base64').toString('utf8')) as { data?: unknown; owner?: unknown };
    return { data: hint.data, owner: typeof hint.owner === 'string' ? hint.owner : undefined };
  } catch {
    return { data: undefined, owner: undefined };
  }
}
