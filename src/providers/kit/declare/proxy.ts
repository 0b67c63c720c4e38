/** A proxy for calls: HTTP CONNECT, over TLS with `https`, or SOCKS5. */
export interface Proxy {
  protocol: 'socks5' | 'http' | 'https';
  host: string;
  port: number;
  username?: string | undefined;
  password?: string | undefined;
}
