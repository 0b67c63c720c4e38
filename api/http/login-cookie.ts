import type { Reply, Request } from './route.ts';

const NAME = 'login';
const SECONDS = 600;

/** What binds a login by a provider to the browser in which it began (S36); undefined where there is none of ours. */
export function loginCookie({ cookies }: Request): string | undefined {
  const value = cookies[NAME];
  return value !== undefined && /^[A-Za-z0-9_-]{43}$/.test(value) ? value : undefined;
}

/** Keeps it as long as a login may take; `null` takes it away. */
export const setLoginCookie = (reply: Reply, value: string | null): void => reply.cookie(NAME, value, { maxAgeSeconds: SECONDS });
