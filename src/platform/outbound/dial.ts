import { isIP, type Socket } from 'node:net';
import { OutboundError, type OutboundProxy } from './contract.ts';
import { type Guard, openGuard } from './guard.ts';
import { type Connector, pinnedConnector } from './pools.ts';
import type { Dial } from './proxy.ts';
import { ProxyFailure } from './proxy-failure.ts';

const MOST_ADDRESSES = 4;
const CERTIFICATE = /CERT|ERR_TLS|ERR_SSL|EPROTO|UNABLE_TO|SELF_SIGNED/;

interface DialOptions {
  guard: Guard;
  allowedPrivateCidrs: readonly string[];
  /**
   * `host:port` of proxies beside this service for routes of the instance, `<organization id>@host:port` for those of
   * one organization.
   */
  sidecars: readonly string[];
  addressesOf(name: string): Promise<readonly string[]>;
  connector: Connector;
}

/**
 * Connects to proxies, whose address a user may have chosen: it is judged as any other, but for those that the operator
 * lists.
 */
export function openDial({ guard, allowedPrivateCidrs, sidecars, addressesOf, connector }: DialOptions): Dial {
  const listed = new Set(sidecars.map((one) => one.toLowerCase()));

  return async (proxy) => {
    const name = proxy.host.replace(/^\[|\]$/g, '').toLowerCase();
    const known = isIP(name) === 0 ? await addressesOf(name).catch(() => undefined) : [name];
    if (!known) throw new ProxyFailure(proxy, 'down', `has no address: ${name}`);
    const place = `${name.includes(':') ? `[${name}]` : name}:${proxy.port}`;
    const isListed = proxy.owner !== undefined && listed.has(proxy.owner === null ? place : `${proxy.owner}@${place}`);
    const judge = isListed ? openGuard([...allowedPrivateCidrs, ...known]) : guard;
    let failure: unknown;
    for (const address of allowed(proxy, judge, known).slice(0, MOST_ADDRESSES)) {
      try {
        return await connect(proxy, name, pinnedConnector(judge, name, address, { connector, proxied: false }));
      } catch (error) {
        failure = error;
      }
    }
    throw asProxyFailure(proxy, failure);
  };
}

function allowed(proxy: OutboundProxy, guard: Guard, addresses: readonly string[]): string[] {
  try {
    return guard.choose(addresses, 'https:'); // what goes to a proxy has its own protection
  } catch (cause) {
    throw new ProxyFailure(proxy, 'blocked', 'has an address that may not be called', { cause });
  }
}

const connect = (proxy: OutboundProxy, name: string, connector: Connector) =>
  new Promise<Socket>((resolve, reject) => {
    const protocol = proxy.protocol === 'https' ? 'https:' : 'http:';
    connector({ protocol, host: name, hostname: name, port: String(proxy.port) }, (error, socket) =>
      socket ? resolve(socket) : reject(error!),
    );
  });

function asProxyFailure(proxy: OutboundProxy, cause: unknown): ProxyFailure {
  const { code } = Object(cause) as { code?: unknown };
  if (cause instanceof OutboundError && cause.failure === 'blocked')
    return new ProxyFailure(proxy, 'blocked', 'has an address that may not be called', { cause });
  if (typeof code === 'string' && CERTIFICATE.test(code))
    return new ProxyFailure(proxy, 'certificate', `has a certificate that is not good: ${code}`, { cause });
  return new ProxyFailure(proxy, 'down', `cannot be reached: ${typeof code === 'string' ? code : 'no connection'}`, {
    cause,
  });
}
