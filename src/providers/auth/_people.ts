import { refused } from '../kit/declare/fallback.ts';
import type { Values } from '../kit/declare/fields.ts';
import type { App } from '../kit/protocols/oauth.ts';
import type { Claims } from '../kit/protocols/openid.ts';
import type { Account } from './_contract.ts';

/**
 * Makes an account of claims. `vouched`: an address counts although the provider does not state that it is verified.
 */
export const accountOf = (claims: Claims, { vouched = false } = {}): Account => ({
  providerId: claims.sub,
  email: claims.email && (claims.email_verified ?? vouched) ? claims.email : null,
  name: claims.name || claims.preferred_username || claims.nickname || '',
  avatarUrl: claims.picture ?? null,
});

export const notBelieved = () => refused('reauthorize', 'This proof does not hold: begin again');

/** The client of this service in the settings of a login provider. */
export const appOf = (values: Values): App => ({
  clientId: values['clientId']!, // required fields
  clientSecret: values['clientSecret']!,
});
