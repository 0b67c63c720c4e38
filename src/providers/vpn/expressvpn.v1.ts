import { vpn } from './_contract.ts';

export default vpn({
  id: 'expressvpn',
  version: 'v1',
  status: 'active',
  title: 'ExpressVPN',
  description: 'OpenVPN with credentials of its manual configuration.',
  website: 'https://www.expressvpn.com',
  authType: 'none',
  setupNotes: 'A server cannot drive ExpressVPN: it has no proxies and only OpenVPN.',
  credentials: {},
});
