import { z } from 'zod';
import { vpn } from './_contract.ts';
import { at, type Hosts, location, user } from './_proxies.ts';

const HOSTS: Hosts = {
  us: ['United States', 'socks-us.windscribe.com'],
  nl: ['Netherlands', 'socks-nl.windscribe.com'],
};
const SERVERS = 'https://assets.windscribe.com/serverlist/mob-v2/1/1'; // the last number only defeats caches
const Groups = z.object({
  data: z.array(
    z.object({ name: z.string(), groups: z.array(z.object({ id: z.number().nullish(), city: z.string() })).nullish() }),
  ),
});

export default vpn({
  id: 'windscribe',
  version: 'v1',
  status: 'active',
  title: 'Windscribe',
  description: 'WireGuard files for everybody, SOCKS5 logins for Pro accounts.',
  website: 'https://windscribe.com',
  authType: 'basic',
  setupNotes:
    'The config generators need a Pro account. Whether its two SOCKS5 hosts still answer is not documented: test the route before you use it.',
  credentials: {
    socksUsername: user('Proxy user name'),
    socksPassword: user('Proxy password'),
    location: location(HOSTS),
  },
  tunnel: true,
  oneOf: [['socksUsername', 'socksPassword']],
  async places({ http }) {
    const { data } = await http.get(SERVERS, Groups);
    return data.flatMap(({ name, groups }) =>
      (groups ?? []).map(({ city }) => ({ id: `${name} ${city}`, name: `${name}, ${city}`, country: null })),
    );
  },
  proxy: ({ values: { socksUsername, socksPassword, location: place } }) =>
    at(HOSTS, place, socksUsername, socksPassword),
});
