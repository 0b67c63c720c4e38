import { AppError } from '../../platform/kernel/index.ts';
import type { OAuth1 } from '../kit/protocols/oauth1.ts';
import { fill } from '../kit/wire/connection.ts';
import type { FullLine } from '../kit/wire/open-line.ts';
import type { App, SocialAdapter } from './_contract.ts';

/** A login by consent. */
export type Consent = Extract<SocialAdapter['login'], { kind: 'oauth2' }>;

export function consentOf(adapter: SocialAdapter): Consent {
  if (adapter.login.kind === 'oauth2') return adapter.login;
  throw new AppError('invalid_request', `${adapter.title} is connected by its fields, not by consent`);
}

/** Fills the addresses of a login from the values and hosts of the line; a path belongs to its base. */
export function addressed(login: Consent, { values, hosts, base }: FullLine): Consent {
  const at = (address: string) => {
    const filledIn = fill(address, { ...hosts, ...values });
    return filledIn.startsWith('/') ? base + filledIn : filledIn;
  };
  const within = <T extends { at: string }>(part: T): T => ({ ...part, at: at(part.at) });
  const { oauth1, longLived, renewal, revoke, permissionsAt } = login;
  return {
    ...login,
    authorize: at(login.authorize),
    token: at(login.token),
    ...(longLived && { longLived: within(longLived) }),
    ...(typeof renewal === 'object' && { renewal: within(renewal) }),
    ...(revoke && { revoke: within(revoke) }),
    ...(permissionsAt !== undefined && { permissionsAt: at(permissionsAt) }),
    ...(oauth1 && {
      oauth1: {
        ...oauth1,
        request: at(oauth1.request),
        authorize: at(oauth1.authorize),
        access: at(oauth1.access),
      },
    }),
  };
}

/** Answers OAuth 1.0a where the app has nothing else. */
export const signedLogin = ({ oauth1 }: Pick<Consent, 'oauth1'>, app: App): OAuth1 | undefined =>
  app.clientId === '' && app.consumerKey !== undefined ? oauth1 : undefined;
