import { AppError, ProviderError, type ProviderFailure } from '../../platform/kernel/index.ts';
import {
  type Outbound,
  OutboundError,
  parseAddress,
  type ProxyFault,
  type EgressRoute,
} from '../../platform/outbound/index.ts';
import type { Use } from '../kit/declare/line.ts';
import { type Lines, secretsOf } from '../kit/wire/open-line.ts';
import type { Values } from '../kit/declare/fields.ts';
import type { Vpn, VpnAdapter } from './_contract.ts';

export interface RoutesOptions {
  outbound: Pick<Outbound, 'fetch' | 'through'>;
  /** Service that answers the address of the caller: as text, or in JSON as `ip`. */
  echoUrl: string;
}

/** VPNs and proxies as egress routes. */
export interface Routes {
  /** Opens the VPN of the settings, guarded and counted. */
  vpn(adapter: VpnAdapter, use: Use): Vpn;
  /** Answers the route over the proxy of the settings; `label` names it to people. Throws `ProviderError`. */
  openRoute(adapter: VpnAdapter, use: Use, label: string): Promise<EgressRoute>;
  /**
   * Answers the exit address of a route, which must differ from that of the open route. Throws `ProviderError` with the
   * reason.
   */
  exitOf(egressRoute: EgressRoute): Promise<string>;
  /** Checks the account, where the provider can be asked, and the exit address of the route. */
  check(adapter: VpnAdapter, values: Values, owner?: string | null): Promise<string>;
}

const ECHO_MS = 15_000;

/** Failures by fault of the proxy: its login, terms and address are for people to correct, the others may pass. */
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
    if (status !== 200 || !parseAddress(address))
      throw new ProviderError('unavailable', 'The service that tells addresses answered something else');
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
    openRoute: async (adapter, use, label) =>
      outbound.through({ ...(await routes.vpn(adapter, use).proxy()), label, owner: use.orgId }),
    async exitOf(egressRoute) {
      const exit = await addressBy(egressRoute);
      // Without an own address there is nothing to compare: the proxy did answer.
      const open = await addressBy(outbound).catch((error: unknown) => {
        if (error instanceof AppError) return undefined;
        throw error;
      });
      if (exit === open)
        throw new ProviderError('rejected', `The route comes out at ${exit}, as calls without it do: it hides nothing`);
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
