import { vpn } from './_contract.ts';

export default vpn({
  id: 'purevpn',
  version: 'v1',
  status: 'active',
  title: 'PureVPN',
  description: 'WireGuard files that the member area makes.',
  website: 'https://www.purevpn.com',
  authType: 'none',
  setupNotes: 'A file that is not used for a while expires: make a new one when the route is down.',
  credentials: {},
  tunnel: true,
});
