import { AppError, ProviderError, type ProviderFailure } from '../../platform/kernel/index.ts';
import { type Outbound, OutboundError, parseAddress, type ProxyFault, type EgressRoute } from '../../platform/outbound/index.ts';
import type { Use } from '../kit/declare/line.ts';
import { type Lines, secretsOf } from '../kit/wire/open-line.ts';
import type { Values } from '../kit/declare/fields.ts';
import type { Vpn, VpnAdapter } from './_contract.ts';

export interface RoutesOptions {
  outbound: Pick<Outbound, 'fetch' | 'through'>;
  /** Answers the address of whoever asks: as text, or in JSON as `ip`. */
  echoUrl: string;
}

/** VPNs and proxies as egress routes. */
export interface Routes {
  /** What the settings lead to; each operation guarded and counted. */
  vpn(adapter: VpnAdapter, use: Use): Vpn;
  /** The route over the proxy that the settings lead to; `label` is what people call it. Throws `ProviderError`. */
  openRoute(adapter: VpnAdapter, use: Use, label: string): Promise<EgressRoute>;
  /** The exit address of a route, which must differ from that of the open route. Throws `ProviderError` with the words of what is wrong. */
  exitOf(egressRoute: EgressRoute): Promise<string>;
  /** Asks for the account where the provider can be asked, and where the route comes out. */
  check(adapter: VpnAdapter, values: Values, owner?: string | null): Promise<string>;
}

const ECHO_MS = 15_000;

/** What a fault of the proxy is to people: its login, its terms or its address are theirs to mend, all else may pass. */
const FAILURES: Record<ProxyFault, ProviderFailure> = {
  login: 'reauthorize',
  forbidden: 'rejected',
  certificate: 'rejected',
  blocked: 'rejected',
  down: 'unavailable',
  target: 'unavailable',
};

export function openRoutes(lines: Lines, { outbound, echoUrl }: RoutesOptions): Routes {
  async function addressBy(egressRoute: Pick<EgressRoute, 'fetch'>): Promise<string> {
    const { status, text } = await ask(egressRoute);
    const said = text.trim();
    const address = /^\{.*"ip"\s*:\s*"([^"]*)"/s.exec(said)?.[1] ?? said;
    if (status !== 200 || !parseAddress(address)) throw new ProviderError('unavailable', 'The service that tells addresses answered something else');
    return address;
  }
  async function ask(egressRoute: Pick<EgressRoute, 'fetch'>): Promise<{ status: number; text: string }> {
    try {
      const answer = await egressRoute.fetch(echoUrl, { timeoutMs: ECHO_MS, maxBytes: 10_000, redirects: 'none' });
      return { status: answer.status, text: answer.text() };
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      const failure = error.proxy === undefined ? 'unavailable' : FAILURES[error.proxy];
      throw new ProviderError(failure, sentence(error.message.replace('No connection: ', '')), { cause: error });
    }
  }

  const routes: Routes = {
    vpn: (adapter, use) => lines.opened(adapter, use, (line) => adapter.connect(line)),
    openRoute: async (adapter, use, label) => outbound.through({ ...(await routes.vpn(adapter, use).proxy()), label, owner: use.orgId }),
    async exitOf(egressRoute) {
      const exit = await addressBy(egressRoute);
      // One that cannot say how it comes out itself is asked no more of: the route did answer, over the proxy.
      const open = await addressBy(outbound).catch((error: unknown) => {
        if (error instanceof AppError) return undefined;
        throw error;
      });
      if (exit === open) throw new ProviderError('rejected', `The route comes out at ${exit}, as calls without it do: it hides nothing`);
      return exit;
    },
    check: (adapter, values, owner) =>
      lines.call(adapter, { secrets: secretsOf(adapter, values) }, async () => {
        const vpn = adapter.connect(lines.open(adapter, values, { owner }));
        const account = await vpn.account?.();
        const proxy = { ...(await vpn.proxy()), label: adapter.title };
        const exit = await routes.exitOf(outbound.through(owner === undefined ? proxy : { ...proxy, owner }));
        return [account, `The route comes out at ${exit}`].filter(Boolean).join('. ');
      }),
  };
  return routes;
}

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
