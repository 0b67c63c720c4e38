import type { ProviderFailure } from '../../../platform/kernel/index.ts';
import { failureOfStatus } from '../declare/failures.ts';

/** Failures by error code of S3, where the code is more specific than the status. */
const CODES: Readonly<Record<string, ProviderFailure>> = {
  InvalidAccessKeyId: 'reauthorize',
  SignatureDoesNotMatch: 'reauthorize',
  ExpiredToken: 'reauthorize',
  InvalidToken: 'reauthorize',
  SlowDown: 'rate_limited',
  RequestTimeout: 'unavailable', // with status 400
  NotImplemented: 'rejected', // with status 501: a repeat would not help
  QuotaExceeded: 'exhausted',
  InsufficientStorage: 'exhausted',
  EntityTooLarge: 'rejected',
};

export const failureOfS3 = (code: string, status: number): ProviderFailure =>
  CODES[code] ?? (status === 507 ? 'exhausted' : failureOfStatus(status, false));

/** Advice for refusals that come from the settings, by error code. */
const ADVICE: Readonly<Record<string, string>> = {
  NoSuchBucket: 'there is no such bucket',
  PermanentRedirect: 'the bucket is in another region',
  TemporaryRedirect: 'the bucket is in another region',
  AuthorizationHeaderMalformed: 'the bucket is in another region',
  IllegalLocationConstraintException: 'the bucket is in another region',
  RequestTimeTooSkewed: 'the clock of this machine is wrong',
  AccessControlListNotSupported: 'the bucket takes no object of its own visibility',
  AccessDenied: 'the key may not do this',
  AllAccessDisabled: 'the key may not do this',
};
export const adviceOfS3 = (code: string, status: number): string | undefined =>
  ADVICE[code] ??
  (status >= 300 && status < 400 ? 'it sends us elsewhere: check the region and the address' : undefined);
