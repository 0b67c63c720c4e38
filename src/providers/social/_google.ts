import { z } from 'zod';
import type { ProviderFailure } from '../../platform/kernel/index.ts';
import { clientApp } from '../kit/protocols/oauth.ts';
import type { SocialSpec } from './_contract.ts';
import { failureAt } from './_failures.ts';

/** Reasons of https://developers.google.com/youtube/v3/docs/errors that their HTTP status does not tell. */
const REASONS: Readonly<Record<string, ProviderFailure>> = {
  authError: 'reauthorize',
  insufficientPermissions: 'reauthorize',
  ACCESS_TOKEN_SCOPE_INSUFFICIENT: 'reauthorize',
  quotaExceeded: 'rate_limited',
  dailyLimitExceeded: 'rate_limited',
  rateLimitExceeded: 'rate_limited',
  userRateLimitExceeded: 'rate_limited',
  uploadLimitExceeded: 'rate_limited',
  youtubeSignupRequired: 'rejected',
};
/** The failure inside an error of Google: `error.errors[0].reason` (v3), `error.details[].reason` (v4 and later). */
export const googleFailure = z.union([
  failureAt('error.errors.0.reason', REASONS),
  failureAt('error.details.0.reason', REASONS),
]);

/**
 * Consent at Google for an app of one product. A revocation would end every login of the person at this app, so there
 * is none.
 */
export const googleLogin = (scopes: readonly string[]) =>
  ({
    kind: 'oauth2',
    authorize: 'https://accounts.google.com/o/oauth2/v2/auth',
    token: 'https://oauth2.googleapis.com/token',
    scopes,
    pkce: true,
    asks: { access_type: 'offline', prompt: 'consent', include_granted_scopes: 'false' },
  }) as const satisfies SocialSpec<object & Record<string, never>, z.ZodType>['login'];

export const googleApp = clientApp;
