import { z } from 'zod';
import { failureOfStatus } from '../kit/declare/failures.ts';
import { secret, text } from '../kit/declare/fields.ts';
import { Clicks, Id, shortlink, ShortUrl } from './_contract.ts';

const Link = z.object({ data: z.object({ id: Id, shortUrl: ShortUrl }) }).transform(({ data }) => data);
const ERRORS = { 403: 'reauthorize' } as const;
const Refusal = z
  .object({ status: z.int().refine((status) => status !== 200) })
  .transform(({ status }) => (status === 403 ? ERRORS[status] : failureOfStatus(status, true)));

export default shortlink({
  id: 't2m',
  version: 'v1',
  status: 'active',
  title: 'T2M',
  description: 'Short links with tags and domains of your own.',
  website: 'https://t2mio.com',
  authType: 'api_key',
  setupNotes: 'Key and secret are at t2mio.com > API.',
  credentials: {
    apiKey: secret('API key'),
    apiSecret: secret('API secret'),
    domainId: text('Domain id', { required: false, validation: '[0-9]{1,15}', help: 'Without it the usual domain' }),
  },
  api: 'https://t2mio.com/api/v1',
  auth: [
    { in: 'header', name: 'apikey', field: 'apiKey' },
    { in: 'header', name: 'apisecret', field: 'apiSecret' },
  ],
  errors: ERRORS,
  errorInside: Refusal, // the body holds the real status
  shorten: ({ http, values: { domainId } }, url) =>
    http.post('/urls', Link, {
      json: { destination: url, ...(domainId && { domain_id: Number(domainId) }) },
      creates: true,
    }),
  async clicks({ http }, { id }) {
    const reply = z.object({ data: z.object({ hits: Clicks }) });
    return (await http.get(`/urls/${encodeURIComponent(id)}`, reply)).data.hits;
  },
});
