import type { Reply, Request } from './route.ts';

const FORM = /^[A-Za-z0-9_-]{43}$/;
const read =
  (name: string, form = FORM) =>
  ({ cookies }: Request): string | undefined => {
    const value = cookies[name];
    return value !== undefined && form.test(value) ? value : undefined;
  };
/** Keeps it as long as it may be needed; `null` takes it away. */
const write =
  (name: string, maxAgeSeconds: number) =>
  (reply: Reply, value: string | null): void =>
    reply.cookie(name, value, { maxAgeSeconds });

/**
 * The text that binds a login by a provider to the browser in which it began (S36); undefined where there is none of
 * ours.
 */
export const loginCookie = read('login');
export const setLoginCookie = write('login', 600);

/** The same of a registration whose mail was not answered yet, as long as that user is kept. */
export const registrationCookie = read('registration');
export const setRegistrationCookie = write('registration', 7 * 24 * 60 * 60);

/**
 * The text that tells a browser in which the account was logged in before from those of strangers; it outlives sessions
 * and logouts.
 */
export const knownBrowserCookie = read('known_browser', /^[A-Za-z0-9_-]{65}$/);
export const setKnownBrowserCookie = write('known_browser', 180 * 24 * 60 * 60);
