import { vpn } from './_contract.ts';

export default vpn({
  id: 'protonvpn',
  version: 'v1',
  status: 'active',
  title: 'Proton VPN',
  description: 'WireGuard files that the account makes; it sells no proxies.',
  website: 'https://protonvpn.com',
  authType: 'none',
  setupNotes: 'account.proton.me, VPN, WireGuard makes the file. Its login is for people, and is not used here.',
  credentials: {},
  tunnel: true,
});
