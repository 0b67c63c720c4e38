import { vpn } from './_contract.ts';

export default vpn({
  id: 'cyberghost',
  version: 'v1',
  status: 'active',
  title: 'CyberGhost',
  description: 'OpenVPN with a certificate for each device.',
  website: 'https://www.cyberghostvpn.com',
  authType: 'none',
  setupNotes:
    'A server cannot drive CyberGhost: it has no proxies and only OpenVPN. With a WireGuard file of yours, use the custom route.',
  credentials: {},
});
