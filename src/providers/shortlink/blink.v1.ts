import { z } from 'zod';
import { refused, whenFailed } from '../kit/declare/fallback.ts';
import { secret, text } from '../kit/declare/fields.ts';
import { BareUrl, Id, ownDomain, shortlink, type ShortlinkLine } from './_contract.ts';

const Domains = z.object({ objects: z.array(z.object({ id: Id, domain: z.string() })) });
const Made = z
  .object({ objects: z.tuple([z.object({ id: Id, short_link: BareUrl })], z.unknown()) })
  .transform(({ objects: [{ id, short_link }] }) => ({ id, shortUrl: short_link }));
const credentials = {
  email: text('E-mail of the account'),
  password: secret('Password', { required: false, help: 'Not needed with a refresh token' }),
  refreshToken: secret('API refresh token', { required: false, help: 'Better than the password' }),
  domainId: text('Domain id', {
    required: false,
    validation: '[0-9]{1,18}',
    help: 'Without it the domain is looked up by its name',
  }),
  domain: ownDomain,
  host: text('Server', {
    required: false,
    form: 'origin',
    placeholder: 'https://app.bl.ink',
    help: 'Of an enterprise account: the address of its console; without it app.bl.ink',
  }),
};
type BlinkLine = ShortlinkLine<typeof credentials>;

/** Paths start with `at`. */
interface Session {
  at: string;
  headers: Record<string, string>;
  domainId?: string;
}
/** Sessions by connection: five calls a second are taken from one address, and each login and look-up is one. */
const sessions = new WeakMap<BlinkLine, Promise<Session>>();

async function logIn({ http, base, hide, values }: BlinkLine): Promise<Session> {
  const { email, password, refreshToken, host } = values;
  const at = host ? `${host}/api/v4` : base;
  const json = refreshToken ? { email, refresh_token: refreshToken } : { email, password };
  const { access_token } = await http.post(`${at}/access_token`, z.object({ access_token: z.string().min(1) }), {
    json,
  });
  hide(access_token);
  return { at, headers: { authorization: `Bearer ${access_token}` } };
}

function begin(line: BlinkLine): Promise<Session> {
  const session = logIn(line);
  sessions.set(line, session);
  session.catch(() => sessions.get(line) === session && sessions.delete(line));
  return session;
}

/**
 * Runs a call in the kept session, or in a new one where there is none. The token of a login is the one that the
 * account has already, so its end is only known by a refusal.
 */
async function within<T>(line: BlinkLine, call: (session: Session) => Promise<T>): Promise<T> {
  const anew = async () => call(await begin(line));
  const kept = sessions.get(line);
  return kept ? whenFailed('reauthorize', async () => call(await kept), anew) : anew();
}

async function findDomain({ http, values }: BlinkLine, { at, headers }: Session) {
  const { objects } = await http.get(`${at}/domains`, Domains, { headers, query: { domain_name: values.domain } });
  if (!objects[0]) throw refused('rejected', `BL.INK knows no domain ${values.domain ?? ''} of this account`);
  return objects[0];
}

/** https://developers.bl.ink/ */
export default shortlink({
  id: 'blink',
  version: 'v1',
  status: 'active',
  title: 'BL.INK',
  description: 'Link management for companies.',
  website: 'https://www.bl.ink',
  authType: 'password',
  setupNotes: 'An account with API access is needed. How often a link was followed is not told.',
  credentials,
  oneOf: [['password'], ['refreshToken']],
  api: 'https://app.bl.ink/api/v4',
  errors: { 403: 'reauthorize', 503: 'rate_limited', 533: 'rate_limited', 544: 'rate_limited' }, // too many calls
  shorten: (line, url) =>
    within(line, async (session) => {
      session.domainId ??= line.values.domainId ?? (await findDomain(line, session)).id;
      const { at, headers, domainId } = session;
      return line.http.post(`${at}/${domainId}/links`, Made, { headers, json: { url }, creates: true });
    }),
  check: (line) =>
    within(line, async (session) => `Short links will be of ${(await findDomain(line, session)).domain}`),
});
