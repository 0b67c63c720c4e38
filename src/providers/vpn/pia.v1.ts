import { z } from 'zod';
import { secret } from '../kit/declare/fields.ts';
import { type Place, vpn } from './_contract.ts';
import { at, type Hosts, user } from './_proxies.ts';

const HOSTS: Hosts = { nl: ['Netherlands', 'proxy-nl.privateinternetaccess.com'] };
const SERVERS = 'https://serverlist.piaservers.net/vpninfo/servers/v6';
const Regions = z.object({
  regions: z.array(z.object({ id: z.string(), name: z.string(), country: z.string(), offline: z.boolean().nullish() })),
});
/** The list is one line of JSON, followed by a signature. */
const FirstLine = z.union([
  Regions,
  z
    .string()
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text.split('\n', 1)[0]!);
      } catch {
        context.addIssue('not JSON');
        return z.NEVER;
      }
    })
    .pipe(Regions),
]);

export default vpn({
  id: 'pia',
  version: 'v1',
  status: 'active',
  title: 'Private Internet Access',
  description: 'A SOCKS5 proxy in the Netherlands; other countries by WireGuard.',
  website: 'https://www.privateinternetaccess.com',
  authType: 'basic',
  setupNotes: 'The client control panel makes the SOCKS5 login (x…); it is not the login of the VPN (p…).',
  credentials: {
    socksUsername: user('SOCKS5 user name'),
    socksPassword: user('SOCKS5 password'),
    username: secret('VPN user name', { required: false, help: 'To see whether the account is good' }),
    password: secret('VPN password', { required: false }),
  },
  tunnel: true,
  oneOf: [['socksUsername', 'socksPassword']],
  api: 'https://www.privateinternetaccess.com/api/client/v2',
  proxy: ({ values: { socksUsername, socksPassword } }) => at(HOSTS, 'nl', socksUsername, socksPassword),
  async places({ http }): Promise<readonly Place[]> {
    const { regions } = await http.get(SERVERS, FirstLine, { answerBytes: 4 * 1024 * 1024 });
    return regions.filter(({ offline }) => !offline).map(({ id, name, country }) => ({ id, name, country }));
  },
  async account({ http, values: { username, password } }) {
    if (!username || !password) return undefined;
    await http.post('/token', z.object({ token: z.string().min(1) }), { form: { username, password } });
    return 'The VPN account is good';
  },
});
