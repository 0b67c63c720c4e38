import { z } from 'zod';
import { type SessionTokens, SESSION_SECONDS } from '../../src/people/auth/index.ts';
import { randomHex } from '../../src/platform/kernel/index.ts';
import type { Reply, Request } from './route.ts';

/** The address and the browser of a request, and the session that its cookie names. */
export const device = ({ ip, userAgent, cookies }: Request) => ({ ip, userAgent, session: cookies['auth'] });

/** The fields that `returnToken` adds (S33). */
export const ReturnedTokens = z
  .object({ accessToken: z.string(), refreshToken: z.string(), expiresIn: z.int(), csrfToken: z.string() })
  .partial();

/** Sets the cookies of a login; with `returnToken` answers what a client without cookies needs. */
export function logIn(
  reply: Reply,
  { accessToken, refreshToken }: SessionTokens,
  { returnToken, notSecured }: { returnToken: boolean; notSecured: boolean },
): z.input<typeof ReturnedTokens> {
  const csrfToken = randomHex(32);
  reply.cookie('auth', accessToken);
  reply.cookie('refresh', refreshToken);
  reply.cookie('csrf_token', csrfToken, { httpOnly: false });
  if (!returnToken) return {};
  if (notSecured) reply.header('auth', accessToken);
  return { accessToken, refreshToken, expiresIn: SESSION_SECONDS, csrfToken };
}

/** Takes the cookies of a session that has ended away. */
export function dropCookies(reply: Reply): void {
  for (const name of ['auth', 'refresh', 'showorg', 'impersonate']) reply.cookie(name, null);
  reply.cookie('csrf_token', null, { httpOnly: false });
}

/**
 * A person leaves: the browser forgets what pages of this origin kept, too. Cookies go by name, for the directive takes
 * those of every program below the domain.
 */
export function logOut(reply: Reply): void {
  dropCookies(reply);
  reply.header('Clear-Site-Data', '"storage"');
}
