import { z } from 'zod';
import { secret } from '../kit/declare/fields.ts';
import { vpn } from './_contract.ts';
import { at, type Hosts, location, placesOf, user } from './_proxies.ts';

const HOSTS: Hosts = {
  nl: ['Netherlands', 'nl.socks.nordhold.net'],
  se: ['Sweden', 'se.socks.nordhold.net'],
  us: ['United States', 'us.socks.nordhold.net'],
  ie: ['Ireland', 'ie.socks.nordhold.net'],
  'nl-amsterdam': ['Amsterdam', 'amsterdam.nl.socks.nordhold.net'],
  'se-stockholm': ['Stockholm', 'stockholm.se.socks.nordhold.net'],
  'ie-dublin': ['Dublin', 'dublin.ie.socks.nordhold.net'],
  'us-atlanta': ['Atlanta', 'atlanta.us.socks.nordhold.net'],
  'us-chicago': ['Chicago', 'chicago.us.socks.nordhold.net'],
  'us-dallas': ['Dallas', 'dallas.us.socks.nordhold.net'],
  'us-los-angeles': ['Los Angeles', 'los-angeles.us.socks.nordhold.net'],
  'us-new-york': ['New York', 'new-york.us.socks.nordhold.net'],
  'us-phoenix': ['Phoenix', 'phoenix.us.socks.nordhold.net'],
  'us-san-francisco': ['San Francisco', 'san-francisco.us.socks.nordhold.net'],
};
const Login = z.object({ username: z.string().min(1), password: z.string().min(1) });

/** The proxies accept the service credentials only, which can be read with an access token. */
export default vpn({
  id: 'nordvpn',
  version: 'v1',
  status: 'active',
  title: 'NordVPN',
  description: 'A large network with SOCKS5 servers in four countries.',
  website: 'https://nordvpn.com',
  authType: 'basic',
  setupNotes:
    'Nord Account, NordVPN, Manual setup: give the access token, or the service credentials; the login of the site does not work.',
  credentials: {
    accessToken: secret('Access token', { required: false }),
    serviceUsername: user('Service user name'),
    servicePassword: user('Service password'),
    location: location(HOSTS),
  },
  tunnel: true,
  oneOf: [['accessToken'], ['serviceUsername', 'servicePassword']],
  api: 'https://api.nordvpn.com',
  auth: { in: 'basic', user: { text: 'token' }, password: { field: 'accessToken' } },
  places: placesOf(HOSTS),
  async proxy({ http, values: { accessToken, serviceUsername, servicePassword, location: place } }) {
    const own = at(HOSTS, place, serviceUsername, servicePassword);
    if (own || !accessToken) return own;
    const { username, password } = await http.get('/v1/users/services/credentials', Login);
    return at(HOSTS, place, username, password);
  },
  async account({ http, values: { accessToken } }) {
    if (!accessToken) return undefined;
    await http.get('/v1/users/services/credentials', Login);
    return 'The access token is good';
  },
});
