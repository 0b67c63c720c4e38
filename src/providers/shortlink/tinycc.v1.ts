import { z } from 'zod';
import type { Manifest } from '../kit/declare/adapter.ts';
import { secret, text } from '../kit/declare/fields.ts';
import { Clicks, shortlink, ShortUrl } from './_contract.ts';

const first = <S extends z.ZodType>(url: S) => z.object({ urls: z.tuple([url], z.unknown()) });
const Made = first(z.object({ hash: z.string().min(1), short_url_with_protocol: ShortUrl })).transform(
  ({ urls: [made] }) => ({
    id: made.hash,
    shortUrl: made.short_url_with_protocol,
  }),
);
const Code = z.coerce.number().positive();
/** Codes that say more than the status, which may be 200. Those below 1200 concern the login. */
const CODES: NonNullable<Manifest['errors']> = {
  1216: 'rejected', //    length of the address
  1217: 'reauthorize', // the account has expired
  1220: 'exhausted', //   links of the month, or of the account
  1303: 'exhausted', //   calls of the day
};
const failureOf = (code: number) => CODES[code] ?? (code >= 1000 && code < 1200 ? 'reauthorize' : undefined);
/** The code of a refusal of the whole call, or of its only link. */
const Refusal = z.union([
  z.object({ error: z.object({ code: Code }) }).transform(({ error: { code } }) => code),
  first(z.object({ error: z.object({ code: Code.catch(0), message: z.string().min(1) }) })).transform(
    ({ urls: [{ error }] }) => error.code,
  ),
]);

/** https://tiny.cc/tiny/api-docs-v3; the same software at tinycc.com documents a root of its own. */
export default shortlink({
  id: 'tinycc',
  version: 'v1',
  status: 'active',
  title: 'Tiny.cc',
  description: 'Short links with statistics.',
  website: 'https://tinycc.com',
  authType: 'basic',
  setupNotes: 'The key is at tiny.cc > My account > API.',
  credentials: { username: text('User name'), apiKey: secret('API key') },
  api: 'https://tiny.cc/tiny/api/3',
  auth: { in: 'basic', user: { field: 'username' }, password: { field: 'apiKey' } },
  facts: { defaultDomain: 'tiny.cc' },
  errors: { 403: 'reauthorize' },
  errorOf: Refusal.refine((code) => failureOf(code) !== undefined).transform((code) => failureOf(code)!),
  errorInside: Refusal.transform((code) => failureOf(code) ?? 'rejected'),
  shorten: ({ http }, url) => http.post('/urls', Made, { json: { urls: [{ long_url: url }] }, creates: true }),
  async clicks({ http }, { id }) {
    const { urls } = await http.get(`/urls/${encodeURIComponent(id)}`, first(z.object({ total_clicks: Clicks })));
    return urls[0].total_clicks;
  },
  async check({ http }) {
    await http.get('/account', z.looseObject({ account: z.unknown() }));
    return 'Tiny.cc takes the key';
  },
});
