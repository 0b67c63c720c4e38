import { vpn } from './_contract.ts';

export default vpn({
  id: 'hotspotshield',
  version: 'v1',
  status: 'active',
  title: 'Hotspot Shield',
  description: 'Apps only, with a protocol of their own.',
  website: 'https://www.hotspotshield.com',
  authType: 'none',
  setupNotes: 'A server cannot drive Hotspot Shield: it has apps only, and no proxies.',
  credentials: {},
});
