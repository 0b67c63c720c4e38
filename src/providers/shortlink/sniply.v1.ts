import { z } from 'zod';
import { secret, text } from '../kit/declare/fields.ts';
import { shortlink, ShortUrl } from './_contract.ts';

const Made = z.object({ href: ShortUrl }).transform(({ href }) => ({ id: href, shortUrl: href }));

export default shortlink({
  id: 'sniply',
  version: 'v1',
  title: 'Sniply',
  description: 'Short links with a call to action laid over the page.',
  website: 'https://sniply.io',
  status: 'preview',
  authType: 'api_key',
  setupNotes:
    'Sniply publishes no description of its interface. This follows what programs of 2016 did, and may not work any more.',
  credentials: {
    apiKey: secret('API key'),
    campaignId: text('Campaign id', { required: false, help: 'The call to action to show' }),
  },
  api: 'https://snip.ly/api/v2',
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  facts: { defaultDomain: 'snip.ly' },
  errors: { 403: 'reauthorize' },
  shorten: ({ http, values }, url) =>
    http.post('/links/', Made, { json: { url, campaign: values.campaignId }, creates: true }),
});
