import { vpn } from './_contract.ts';

export default vpn({
  id: 'vyprvpn',
  version: 'v1',
  status: 'active',
  title: 'VyprVPN',
  description: 'OpenVPN by hand.',
  website: 'https://www.vyprvpn.com',
  authType: 'none',
  setupNotes: 'A server cannot drive VyprVPN: it has no proxies and only OpenVPN.',
  credentials: {},
});
