import { z } from 'zod';
import { secret } from '../kit/declare/fields.ts';
import { vpn } from './_contract.ts';

const Relays = z.array(
  z.object({
    hostname: z.string(),
    country_code: z.string(),
    country_name: z.string(),
    city_name: z.string(),
    active: z.boolean(),
  }),
);

/** The proxies answer inside a tunnel only, so a sidecar must run one. */
export default vpn({
  id: 'mullvad',
  version: 'v1',
  status: 'active',
  title: 'Mullvad',
  description: 'WireGuard only; its SOCKS5 proxies answer inside the tunnel.',
  website: 'https://mullvad.net',
  authType: 'api_key',
  setupNotes:
    'An account has at most five devices: use the WireGuard file of one device for the sidecar, and nowhere else.',
  credentials: {
    accountNumber: secret('Account number', {
      required: false,
      validation: '[0-9]{16}',
      help: '16 digits; only to see until when the account is paid',
    }),
  },
  tunnel: true,
  api: 'https://api.mullvad.net',
  async places({ http }) {
    const relays = await http.get('/www/relays/wireguard/', Relays);
    return relays
      .filter(({ active }) => active)
      .map(({ hostname, city_name, country_name, country_code }) => ({
        id: hostname,
        name: `${country_name}, ${city_name}`,
        country: country_code.toUpperCase(),
      }));
  },
  async account({ http, values: { accountNumber }, clock }) {
    if (!accountNumber) return undefined;
    const { access_token: token } = await http.post('/auth/v1/token', z.object({ access_token: z.string().min(1) }), {
      json: { account_number: accountNumber },
    });
    const { expiry } = await http.get(
      '/accounts/v1/accounts/me',
      z.object({ expiry: z.iso.datetime({ offset: true }) }),
      {
        headers: { authorization: `Bearer ${token}` },
      },
    );
    const day = expiry.slice(0, 10);
    return new Date(expiry) > clock.now()
      ? `The account is paid until ${day}`
      : `The account was paid until ${day} only`;
  },
});
