import { z } from 'zod';
import type { ProviderFailure } from '../../platform/kernel/index.ts';
import type { Login } from './_contract.ts';

const FAILURES: Readonly<Record<string, ProviderFailure>> = {
  invalid_auth: 'reauthorize',
  not_authed: 'reauthorize',
  token_revoked: 'reauthorize',
  token_expired: 'reauthorize',
  account_inactive: 'reauthorize',
  ratelimited: 'rate_limited',
  rate_limited: 'rate_limited',
  service_unavailable: 'unavailable',
  request_timeout: 'unavailable', // the call came without a part of its data
  team_added_to_org: 'unavailable',
  internal_error: 'lost', // a part of the call may have been done
  fatal_error: 'lost',
};
/** A message that is gone, a thread or a person that is not there, and a private channel, which nobody can join. */
const NOTHING = ['message_not_found', 'thread_not_found', 'user_not_found', 'method_not_supported_for_channel_type'];
export const failureInside = z
  .object({ ok: z.literal(false), error: z.string().refine((error) => !NOTHING.includes(error)) })
  .transform(({ error }): ProviderFailure => FAILURES[error] ?? 'rejected');

/** A login from before a permission was asked for lacks it, until somebody logs in again. */
export const adviceOnScope = z
  .object({ error: z.literal('missing_scope'), needed: z.string().regex(/^[a-z.:,]{1,100}$/) })
  .transform(({ needed }) => `The login lacks the permission ${needed}: connect the channel again`);

const OF_LOGIN = ['invalid_code', 'code_already_used', 'invalid_refresh_token', 'invalid_client_id'];
/** A refusal of the token endpoint after which a person logs in again. */
const loginRefusal = z
  .object({ ok: z.literal(false), error: z.string() })
  .transform(({ error }): ProviderFailure =>
    OF_LOGIN.includes(error) || error === 'bad_client_secret' ? 'reauthorize' : (FAILURES[error] ?? 'rejected'),
  );

const SCOPES = [
  'channels:read',
  'groups:read',
  'channels:join',
  'chat:write',
  'users:read',
  'files:read',
  'files:write',
  'reactions:read', // plugs act by reactions, and would wait for them in vain
];
const HISTORY = ['channels:history', 'groups:history'];
export const slackLogin = {
  kind: 'oauth2',
  authorize: 'https://slack.com/oauth/v2/authorize',
  token: 'https://slack.com/api/oauth.v2.access',
  scopes: [...SCOPES, ...HISTORY],
  optionalScopes: HISTORY,
  scopeSeparator: ',',
  refusal: loginRefusal,
} as const satisfies Login;
