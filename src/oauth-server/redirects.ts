/** Schemes that a browser acts on itself: a code sent there could run or be read. */
const BROWSER_SCHEMES = new Set(
  'about blob chrome chrome-extension content data file filesystem ftp ftps intent jar javascript mailto moz-extension resource sms tel vbscript view-source ws wss'.split(
    ' ',
  ),
);
const LOOPBACK = /^http:\/\/(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?(?=[/?]|$)/;
const LENGTH = 2_048;

/**
 * Tells whether an app may register a redirect address: https, http on loopback, or a scheme of its own (S82, S255); no
 * fragment, no user, nothing that parsers read differently.
 */
export function mayRegister(uri: string): boolean {
  if (uri.length > LENGTH || !/^[\x21-\x7e]+$/.test(uri) || /[#\\"<>^`{|}]/.test(uri) || !URL.canParse(uri))
    return false;
  const { protocol, username, password, hostname } = new URL(uri);
  if (username !== '' || password !== '') return false;
  if (protocol === 'https:') return uri.startsWith('https://') && hostname !== '';
  if (protocol === 'http:') return LOOPBACK.test(uri);
  return /^[a-z][a-z0-9+.-]+:/.test(uri) && !BROWSER_SCHEMES.has(protocol.slice(0, -1));
}

const withoutPort = (uri: string): string | undefined =>
  LOOPBACK.test(uri) ? uri.replace(LOOPBACK, 'http://$1') : undefined;

/**
 * Tells whether a request's `redirect_uri` is a registered one: character for character, but for the port of a loopback
 * address, which native clients pick when they start (S86, RFC 8252 7.3).
 */
export function matchesRedirect(registered: string, sent: string): boolean {
  if (registered === sent) return true;
  const bare = withoutPort(registered);
  return bare !== undefined && URL.canParse(sent) && withoutPort(sent) === bare;
}

/** The address with parameters added, its own text untouched. */
export function withParameters(uri: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const query = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return `${uri}${uri.includes('?') ? '&' : '?'}${query.join('&')}`;
}
