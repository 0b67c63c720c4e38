import { z } from 'zod';
import { secret, text } from '../kit/declare/fields.ts';
import { ownDomain, shortlink, ShortUrl } from './_contract.ts';

const Made = z.object({ shorten: ShortUrl }).transform(({ shorten }) => ({ id: shorten, shortUrl: shorten }));

export default shortlink({
  id: 'pixelme',
  version: 'v1',
  title: 'PixelMe',
  description: 'Short links with pixels, for sellers.',
  website: 'https://pixelme.me',
  status: 'preview',
  authType: 'api_key',
  setupNotes:
    'PixelMe publishes no description of its interface. This follows what programs of 2018 to 2020 did, and may not work any more.',
  credentials: {
    apiKey: secret('API key'),
    domain: ownDomain,
    pixelIds: text('Pixel ids', { required: false, help: 'With commas between them' }),
  },
  api: 'https://api.pixelme.me',
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  errors: { 403: 'reauthorize' },
  shorten({ http, values: { domain, pixelIds } }, url) {
    const pixels = pixelIds?.split(',').map((id) => id.trim());
    return http.post('/redirects', Made, { json: { url, domain, pixels_ids: pixels }, creates: true });
  },
  async check({ http }) {
    await http.get('/accounts', z.union([z.looseObject({ id: z.unknown() }), z.array(z.unknown())]));
    return 'PixelMe takes the key';
  },
});
