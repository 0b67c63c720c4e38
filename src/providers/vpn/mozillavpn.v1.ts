import { vpn } from './_contract.ts';

export default vpn({
  id: 'mozillavpn',
  version: 'v1',
  status: 'active',
  title: 'Mozilla VPN',
  description: 'The subscription of Mozilla on the servers of Mullvad.',
  website: 'https://www.mozilla.org/products/vpn/',
  authType: 'none',
  setupNotes: 'It has no interface for servers and only a login for people: use a WireGuard file of a device of yours.',
  credentials: {},
  tunnel: true,
});
