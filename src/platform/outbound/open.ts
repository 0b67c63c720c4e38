import { isIP } from 'node:net';
import { sha256Hex } from '../kernel/index.ts';
import type { RunSpan } from '../telemetry/index.ts';
import { type Outbound, OutboundError, type OutboundProxy } from './contract.ts';
import { openDial } from './dial.ts';
import { openGuard } from './guard.ts';
import { type Connector, socketConnector } from './pools.ts';
import { proxyConnector } from './proxy.ts';
import { type ResolveName, systemResolver } from './resolver.ts';
import { openEgressRoute } from './egress-route.ts';

const MOST_PROXIES = 500;
const HANDSHAKE_MS = 10_000;

export interface OutboundOptions {
  /** Milliseconds of a request that names none. */
  timeoutMs: number;
  /** Ranges that are called although they are not public, also by plain http. */
  allowedPrivateCidrs: readonly string[];
  /** Certificates (PEM) trusted beside the usual ones. */
  authorities?: readonly string[];
  /**
   * Proxies that are used although their address is not public, each by its owner: `host:port`, or `<organization
   * id>@host:port`.
   */
  sidecars?: readonly string[];
  /** Milliseconds that a proxy has until it has connected. */
  handshakeMs?: number;
  resolver?: ResolveName;
  /** Opens the sockets beneath the guard. */
  connector?: Connector;
  /** Runs a request as a span. */
  span?: RunSpan | undefined;
}

/** Names, sockets and trusted certificates of outgoing calls. */
export type Network = Pick<OutboundOptions, 'resolver' | 'connector' | 'authorities'>;

/** Opens the guarded way out. Throws for a range that is none. */
export function openOutbound({
  timeoutMs,
  allowedPrivateCidrs,
  authorities,
  sidecars = [],
  handshakeMs = HANDSHAKE_MS,
  resolver = systemResolver(),
  connector = socketConnector(authorities),
  span,
}: OutboundOptions): Outbound {
  const guard = openGuard(allowedPrivateCidrs);
  const asked = new Map<string, Promise<readonly string[]>>();

  /** Every address of a name; calls that meet share one question, and no answer is kept. */
  function addressesOf(name: string): Promise<readonly string[]> {
    const running = asked.get(name);
    if (running) return running;
    const question = resolver(name).finally(() => asked.delete(name));
    asked.set(name, question);
    return question;
  }

  async function judged(url: URL): Promise<string[]> {
    const name = url.hostname.replace(/^\[|\]$/g, '');
    if (isIP(name) !== 0) return guard.choose([name], url.protocol);
    const addresses = await addressesOf(name).catch((cause: unknown) => {
      throw new OutboundError('unreachable', `No address for ${name}`, { cause });
    });
    return guard.choose(addresses, url.protocol);
  }

  const direct = openEgressRoute({ guard, judged, timeoutMs, span, beneath: { connector, proxied: false } });
  const dial = openDial({ guard, allowedPrivateCidrs, sidecars, addressesOf, connector });
  const proxied = new Map<string, ReturnType<typeof openEgressRoute>>();

  return {
    judge: (text) => guard.judgeUrl(text),
    async judgeResolved(text) {
      const url = guard.judgeUrl(text);
      await judged(url);
      return url;
    },
    fetch: direct.fetch,
    stream: direct.stream,
    webSocket: direct.webSocket,

    through(proxy) {
      const key = keyOf(proxy);
      const route =
        proxied.get(key) ??
        openEgressRoute({
          guard,
          judged,
          timeoutMs,
          span,
          beneath: { connector: proxyConnector(proxy, dial, socketConnector(authorities), handshakeMs), proxied: true },
        });
      proxied.delete(key);
      proxied.set(key, route);
      if (proxied.size > MOST_PROXIES) {
        const [[oldest, unused] = []] = proxied;
        proxied.delete(oldest!);
        unused!.close();
      }
      return route;
    },

    async [Symbol.asyncDispose]() {
      await Promise.all([direct, ...proxied.values()].map((route) => route[Symbol.asyncDispose]()));
      proxied.clear();
    },
  };
}

const keyOf = ({ protocol, host, port, username, password, label, owner = '' }: OutboundProxy): string =>
  sha256Hex(JSON.stringify([protocol, host, port, username, password, label, owner]));
