import { vpn } from './_contract.ts';
import { at, type Hosts, location, placesOf, user } from './_proxies.ts';

const CITIES = {
  ams: 'Amsterdam',
  lon: 'London',
  fra: 'Frankfurt',
  par: 'Paris',
  mad: 'Madrid',
  lin: 'Milan',
  waw: 'Warsaw',
  lis: 'Lisbon',
  tor: 'Toronto',
  nyc: 'New York',
  iad: 'Ashburn',
  dal: 'Dallas',
  sin: 'Singapore',
  nrt: 'Tokyo',
  mel: 'Melbourne',
  syd: 'Sydney',
};
const HOSTS: Hosts = Object.fromEntries(
  Object.entries(CITIES).map(([code, city]) => [code, [city, `${code}.socks.ipvanish.com`]]),
);

export default vpn({
  id: 'ipvanish',
  version: 'v1',
  status: 'active',
  title: 'IPVanish',
  description: 'SOCKS5 proxies in many cities.',
  website: 'https://www.ipvanish.com',
  authType: 'basic',
  setupNotes:
    'The SOCKS5 tab of the account makes the login. Some of the cities may have been given up: test the route before you use it.',
  credentials: {
    socksUsername: user('SOCKS5 user name'),
    socksPassword: user('SOCKS5 password'),
    location: location(HOSTS),
  },
  oneOf: [['socksUsername', 'socksPassword']],
  places: placesOf(HOSTS),
  proxy: ({ values: { socksUsername, socksPassword, location: place } }) =>
    at(HOSTS, place, socksUsername, socksPassword),
});
