import { refused } from '../kit/declare/fallback.ts';
import type { Claims } from '../kit/protocols/openid.ts';
import type { Account } from './_contract.ts';

/** The account that claims tell of. `vouched`: an address counts although nothing is said of its verification. */
export const accountOf = (claims: Claims, { vouched = false } = {}): Account => ({
  providerId: claims.sub,
  email: claims.email && (claims.email_verified ?? vouched) ? claims.email : null,
  name: claims.name || claims.preferred_username || claims.nickname || '',
  avatarUrl: claims.picture ?? null,
});

export const notBelieved = () => refused('reauthorize', 'This proof does not hold: begin again');
