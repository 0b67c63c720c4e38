import { z } from 'zod';
import { secret, text } from '../kit/declare/fields.ts';
import { Clicks, shortlink, type ShortlinkLine, ShortUrl } from './_contract.ts';

const first = <S extends z.ZodType>(url: S) => z.object({ urls: z.tuple([url], z.unknown()) });
const Made = first(z.object({ hash: z.string().min(1), short_url_with_protocol: ShortUrl })).transform(
  ({ urls: [made] }) => ({
    id: made.hash,
    shortUrl: made.short_url_with_protocol,
  }),
);
const Code = z.object({ code: z.coerce.number().positive() });
/** Refusal of the whole call, whose codes from 1000 concern the login, or of its only link. */
const Refusal = z.union([
  z
    .object({ error: Code })
    .transform(({ error: { code } }) =>
      code >= 1000 && code < 2000 ? ('reauthorize' as const) : ('rejected' as const),
    ),
  first(z.object({ error: z.object({ message: z.string().min(1) }) })).transform(() => 'rejected' as const),
]);
const credentials = { username: text('User name'), apiKey: secret('API key') };
const logIn = ({ values: { username, apiKey } }: Pick<ShortlinkLine<typeof credentials>, 'values'>) => ({
  authorization: `Basic ${btoa(`${username}:${apiKey}`)}`,
});

export default shortlink({
  id: 'tinycc',
  version: 'v1',
  status: 'active',
  title: 'Tiny.cc',
  description: 'Short links with statistics.',
  website: 'https://tinycc.com',
  authType: 'basic',
  setupNotes: 'The key is at tiny.cc > My account > API.',
  credentials,
  api: 'https://tiny.cc/tiny/api/3',
  facts: { defaultDomain: 'tiny.cc' },
  errors: { 403: 'reauthorize' },
  errorOf: Refusal,
  errorInside: Refusal,
  terse: true, // a refusal may repeat the header of the login
  shorten: ({ http, values }, url) =>
    http.post('/urls', Made, { headers: logIn({ values }), json: { urls: [{ long_url: url }] }, creates: true }),
  async clicks({ http, values }, { id }) {
    const { urls } = await http.get(`/urls/${encodeURIComponent(id)}`, first(z.object({ total_clicks: Clicks })), {
      headers: logIn({ values }),
    });
    return urls[0].total_clicks;
  },
  async check({ http, values }) {
    await http.get('/account', z.looseObject({ account: z.unknown() }), { headers: logIn({ values }) });
    return 'Tiny.cc takes the key';
  },
});
