import { AppError } from '../platform/kernel/index.ts';

/** RFC 6749 4.1.2.1 and 5.2, RFC 7591 3.2.2, RFC 8628 3.5, RFC 8707 2, and the device flow's own (S95). */
export type OAuthCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'invalid_target'
  | 'invalid_redirect_uri'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'access_denied'
  | 'authorization_pending'
  | 'slow_down'
  | 'expired_token'
  | 'invalid_device_code';

/** A refusal in the words of OAuth, answered as `{error, error_description}`. */
export class OAuthError extends AppError {
  override readonly name = 'OAuthError';
  readonly error: OAuthCode;

  constructor(error: OAuthCode, description: string, { unauthenticated = false } = {}) {
    super(unauthenticated ? 'unauthenticated' : 'invalid_request', description);
    this.error = error;
  }
}

/** At the token endpoint: who the client says it is could not be shown (401). */
export const unknownClient = () =>
  new OAuthError('invalid_client', 'Unknown client, or wrong client authentication', { unauthenticated: true });
export const invalidRequest = (description: string) => new OAuthError('invalid_request', description);
/** One text for every reason: whoever guesses learns nothing. */
export const invalidGrant = () =>
  new OAuthError(
    'invalid_grant',
    'The code or token is unknown, used, expired, or was given to another client, address or verifier',
  );
