import { z } from 'zod';
import { text } from '../kit/declare/fields.ts';
import { vpn } from './_contract.ts';
import { user } from './_proxies.ts';

const Clusters = z.array(
  z.object({ country: z.string(), countryCode: z.string(), location: z.string(), connectionName: z.string() }),
);

export default vpn({
  id: 'surfshark',
  version: 'v1',
  status: 'active',
  title: 'Surfshark',
  description: 'WireGuard by a sidecar; HTTPS proxies that it does not document.',
  website: 'https://surfshark.com',
  authType: 'basic',
  setupNotes:
    'VPN, Manual setup, Credentials. Its HTTPS proxies are not an advertised feature: they may end, or be against its terms. WireGuard is the supported way.',
  credentials: {
    serviceUsername: user('Service user name'),
    servicePassword: user('Service password'),
    location: text('Location', {
      required: false,
      validation: '[a-z]{2}-[a-z]{3}',
      placeholder: 'de-fra',
      help: 'A country and a city, like de-fra',
    }),
  },
  tunnel: true,
  oneOf: [['serviceUsername', 'servicePassword', 'location']],
  api: 'https://api.surfshark.com',
  async places({ http }) {
    const clusters = await http.get('/v4/server/clusters/generic', Clusters);
    return clusters.map(({ country, countryCode, location, connectionName }) => ({
      id: connectionName.split('.', 1)[0]!,
      name: `${country}, ${location}`,
      country: countryCode,
    }));
  },
  proxy({ values: { serviceUsername: username, servicePassword: password, location } }) {
    if (!username || !password || !location) return undefined;
    return { protocol: 'https', host: `${location}.prod.surfshark.com`, port: 443, username, password };
  },
});
