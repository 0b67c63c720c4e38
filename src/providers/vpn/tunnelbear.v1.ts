import { vpn } from './_contract.ts';

export default vpn({
  id: 'tunnelbear',
  version: 'v1',
  status: 'active',
  title: 'TunnelBear',
  description: 'Apps, and OpenVPN for few countries.',
  website: 'https://www.tunnelbear.com',
  authType: 'none',
  setupNotes:
    'A server cannot drive TunnelBear: it has no proxies, and neither WireGuard files nor a public interface.',
  credentials: {},
});
