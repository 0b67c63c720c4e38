import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
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
};

/** Logs in; answers the headers of later calls. */
async function logIn({
  http,
  values: { email, password, refreshToken },
}: ShortlinkLine<typeof credentials>): Promise<Record<string, string>> {
  const json = refreshToken ? { email, refresh_token: refreshToken } : { email, password };
  const { access_token } = await http.post('/access_token', z.object({ access_token: z.string().min(1) }), { json });
  return { authorization: `Bearer ${access_token}` };
}

async function findDomain({ http, values }: ShortlinkLine<typeof credentials>, headers: Record<string, string>) {
  const { objects } = await http.get('/domains', Domains, { headers, query: { domain_name: values.domain } });
  if (!objects[0]) throw refused('rejected', `BL.INK knows no domain ${values.domain ?? ''} of this account`);
  return objects[0];
}

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
  errors: { 403: 'reauthorize' },
  terse: true, // a refusal may repeat the token of the session
  async shorten(line, url) {
    const headers = await logIn(line);
    const domain = line.values.domainId ?? (await findDomain(line, headers)).id;
    return line.http.post(`/${domain}/links`, Made, { headers, json: { url }, creates: true });
  },
  check: async (line) => `Short links will be of ${(await findDomain(line, await logIn(line))).domain}`,
});
