import { secret, text } from '../kit/declare/fields.ts';
import { host, PORT, vpn } from './_contract.ts';

/**
 * Any proxy of the owner. A network sees the proxy's address; the proxy sees the addresses that are called, and
 * unencrypted contents.
 */
export default vpn({
  id: 'custom',
  version: 'v1',
  status: 'active',
  title: 'Custom proxy or WireGuard',
  description: 'Any SOCKS5, HTTP or HTTPS proxy, or a WireGuard file run by wireproxy.',
  authType: 'basic',
  setupNotes: 'SOCKS5 and HTTP proxies are told user name and password without encryption, HTTPS proxies with it.',
  credentials: {
    protocol: text('Protocol', {
      default: 'socks5',
      options: [
        { value: 'socks5', label: 'SOCKS5' },
        { value: 'http', label: 'HTTP' },
        { value: 'https', label: 'HTTPS' },
        { value: 'wireguard', label: 'WireGuard (sidecar)' },
      ],
    }),
    host: host('Host'),
    port: text('Port', {
      required: false,
      validation: PORT,
      address: true,
      help: 'Often 1080 for SOCKS5, 3128, 8080 or 443 for the others',
    }),
    username: text('User name', { required: false, validation: '.{1,255}', help: 'At most 255 characters' }),
    password: secret('Password', { required: false, validation: '.{1,255}', help: 'At most 255 characters' }),
    country: text('Country', { required: false, validation: '.{1,100}', help: 'For people; at most 100 characters' }),
  },
  tunnel: true,
  oneOf: [['host', 'port']],
  proxy({ values: { protocol, host: name, port, username, password } }) {
    if (protocol === 'wireguard' || !name || !port) return undefined;
    return {
      protocol: protocol === 'http' || protocol === 'https' ? protocol : 'socks5',
      host: name,
      port: Number(port),
      ...(username && { username, password }),
    };
  },
});
