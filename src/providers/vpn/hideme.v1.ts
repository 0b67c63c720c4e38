import { z } from 'zod';
import { vpn } from './_contract.ts';

const Servers = z.array(
  z.object({ hostname: z.string(), displayName: z.string(), geo: z.object({ countryCode: z.string() }).nullish() }),
);

export default vpn({
  id: 'hideme',
  version: 'v1',
  status: 'active',
  title: 'hide.me',
  description: 'WireGuard with keys that its own client exchanges; its SOCKS5 proxy answers inside the tunnel.',
  website: 'https://hide.me',
  authType: 'none',
  setupNotes:
    'Keys are exchanged at servers with a certificate of its own authority, which is left to its client: run that, or a tunnel with its keys, as the sidecar.',
  credentials: {},
  tunnel: true,
  api: 'https://api.hide.me',
  async places({ http }) {
    const servers = await http.get('/v1/network/free/en', Servers);
    return servers.map(({ hostname, displayName, geo }) => ({
      id: hostname,
      name: displayName,
      country: geo?.countryCode.toUpperCase() ?? null,
    }));
  },
});
