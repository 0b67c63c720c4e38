import { STATUS_CODES } from 'node:http';
import { AppError, type FieldError } from '../../src/platform/kernel/index.ts';
import { OAuthError } from '../../src/oauth-server/index.ts';
import type { AnyRoute } from './route.ts';

/** The public body of every error: flat, one shape for all statuses (S3). */
function errorBody(error: AppError, requestId: string, frontendUrl: string): Record<string, unknown> {
  const { retryAfterMs, ...extra } = error.extra;
  return {
    statusCode: error.status,
    error: STATUS_CODES[error.status],
    message: error.message,
    msg: error.message,
    code: error.code,
    ...extra,
    ...(typeof retryAfterMs === 'number' && { retryAfter: Math.ceil(retryAfterMs / 1000) }),
    ...(error.status === 402 && { url: `${frontendUrl.replace(/\/$/, '')}/billing` }),
    ...(error.status === 500 && { requestId }),
  };
}

/**
 * The places of a refusal, as JSON pointers with `*` for any element, whose text comes from outside: what a provider says of a call that failed, and the name of a
 * channel, wherever it stands. Sentences of our own stay as they are, for they say how to mend the call.
 */
export function placesOfOthers({ code, name, message, errors }: Readonly<Record<string, unknown>>): string[] {
  if (code === 'provider_failed') return ['/message', '/msg', '/name', '/errors/*/message'];
  if (typeof name !== 'string' || name === '') return [];
  const hasName = (words: unknown) => typeof words === 'string' && words.includes(name);
  const faults = Array.isArray(errors) ? (errors as readonly { message?: unknown }[]) : [];
  return [
    '/name',
    ...(hasName(message) ? ['/message', '/msg'] : []),
    ...faults.flatMap((fault, n) => (hasName(fault.message) ? [`/errors/${n}/message`] : [])),
  ];
}

const OAUTH_CODES: Readonly<Record<number, string>> = {
  401: 'invalid_client',
  402: 'access_denied',
  403: 'access_denied',
  429: 'slow_down',
  500: 'server_error',
  502: 'temporarily_unavailable',
  503: 'temporarily_unavailable',
};
/** The characters that RFC 6749 5.2 lets a description hold. */
const plain = (text: string): string => text.replaceAll(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "'");

function oauthBody(error: AppError, errors: AnyRoute['errors']): Record<string, unknown> {
  if (error instanceof OAuthError) return { error: error.error, error_description: plain(error.message) };
  const faults = (error.extra['errors'] ?? []) as readonly FieldError[];
  const ofRedirect = faults.some(({ field }) => field.split('.')[0] === 'redirect_uris');
  const invalid =
    errors === 'registration' ? (ofRedirect ? 'invalid_redirect_uri' : 'invalid_client_metadata') : 'invalid_request';
  return {
    error: OAUTH_CODES[error.status] ?? invalid,
    error_description: plain(
      faults.length > 0
        ? faults
            .map(({ message }) => message)
            .slice(0, 10)
            .join('; ')
        : error.message,
    ),
  };
}

const REFUSAL_BYTES = 64_000;

/**
 * A refusal as JSON, in the words that the route's callers know; one that would be too long says no more than its code
 * and its sentence.
 */
export function refusalText(
  error: AppError,
  route: AnyRoute | undefined,
  requestId: string,
  frontendUrl: string,
): string {
  const bodyOf = (one: AppError) =>
    JSON.stringify(
      route?.errors || one instanceof OAuthError
        ? oauthBody(one, route?.errors)
        : errorBody(one, requestId, frontendUrl),
    );
  const text = bodyOf(error);
  return Buffer.byteLength(text) <= REFUSAL_BYTES ? text : bodyOf(new AppError(error.code, error.message));
}
