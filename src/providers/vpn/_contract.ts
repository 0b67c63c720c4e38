import type { Adapter, Manifest } from '../kit/declare/adapter.ts';
import { refused } from '../kit/declare/fallback.ts';
import { type Fields, secret, text } from '../kit/declare/fields.ts';
import type { Line } from '../kit/declare/line.ts';
import type { Proxy } from '../kit/declare/proxy.ts';
import { wireguardFault } from './_wireguard.ts';

/** A server of the provider. */
export interface Place {
  /** The provider's id of the server; a value of the field `location`, where that field is free text. */
  id: string;
  name: string;
  /** Two letters (ISO 3166); null where it is unknown. */
  country: string | null;
}

/** A VPN with its owner's settings, as far as a server can use it: through a proxy. Failures are `ProviderError`s. */
export interface Vpn {
  /** Answers the proxy. `unsupported` where no server can use the VPN, `rejected` where the settings name no proxy. */
  proxy(): Promise<Proxy>;
  /** Lists its servers. Absent where there is no public list. */
  places?(): Promise<readonly Place[]>;
  /**
   * Asks the provider whether it accepts the account, and may answer a sentence about it. Undefined where the settings
   * name no account.
   */
  account?(): Promise<string | undefined>;
}

export type VpnLine<F extends Fields = Fields> = Line<'http', F>;

interface VpnSpec<F extends Fields> extends Omit<Manifest<F>, 'api'> {
  /** Base URL of its API; absent where it has none. */
  api?: string;
  /** Answers its own proxy; undefined where the settings name none. */
  proxy?(line: VpnLine<F>): Proxy | undefined | Promise<Proxy | undefined>;
  /** Works with a WireGuard tunnel, run by a sidecar that this service reaches by SOCKS5. */
  tunnel?: true;
  places?(line: VpnLine<F>): Promise<readonly Place[]>;
  account?(line: VpnLine<F>): Promise<string | undefined>;
  /** Groups of its own fields, one of which must be complete unless the sidecar is set. */
  oneOf?: readonly (readonly (keyof F & string)[])[];
}
export interface VpnAdapter<F extends Fields = Fields> extends Adapter<'vpn', object, VpnLine<F>, F> {
  connect(line: VpnLine<F>): Vpn;
}

const HOST = '(?:[A-Za-z0-9._-]{1,253}|\\[[0-9a-fA-F:.]{2,45}\\])';
/** A number from 1 to 65535. */
export const PORT = '[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]';
/** A field for one host name or address; an IPv6 address is in brackets. */
export const host = (label: string, more = {}) =>
  text(label, { required: false, validation: HOST, help: 'A name or an address', address: true, ...more });

const TUNNEL = {
  wireguardConfig: secret('WireGuard file', {
    required: false,
    maxLength: 16_384,
    fault: wireguardFault,
    help: 'Only kept, encrypted, and never shown or used here: the sidecar that runs the tunnel needs the .conf itself',
  }),
  sidecar: text('Sidecar', {
    required: false,
    validation: `${HOST}:(?:${PORT})`,
    address: true,
    placeholder: '127.0.0.1:25344',
    help: 'host:port where a program of the operator, such as wireproxy, offers the tunnel by SOCKS5; EGRESS_SIDECARS must list it for its owner when its address is private',
  }),
  sidecarUsername: text('User name at the sidecar', {
    required: false,
    validation: '.{1,255}',
    help: 'At most 255 characters',
  }),
  sidecarPassword: secret('Password at the sidecar', {
    required: false,
    validation: '.{1,255}',
    help: 'At most 255 characters',
  }),
};
const SIDECAR_NOTE = 'WireGuard runs in a sidecar of the operator (wireproxy), which this service reaches by SOCKS5.';

function sidecarOf({
  sidecar,
  sidecarUsername: username,
  sidecarPassword: password,
}: Readonly<Record<string, string>>): Proxy | undefined {
  if (sidecar === undefined) return undefined;
  const at = sidecar.lastIndexOf(':');
  return {
    protocol: 'socks5',
    host: sidecar.slice(0, at),
    port: Number(sidecar.slice(at + 1)),
    ...(username !== undefined && { username, password }),
  };
}

/** Declares a VPN. */
export function vpn<const F extends Fields>({
  api = '',
  proxy,
  tunnel,
  places,
  account,
  oneOf = [],
  setupNotes,
  ...manifest
}: VpnSpec<F>): VpnAdapter {
  const drivable = proxy !== undefined || tunnel === true;
  const credentials = { ...manifest.credentials, ...(tunnel && TUNNEL) };
  const groups = [...oneOf, ...(tunnel ? [['sidecar']] : [])];
  const notes = [setupNotes, tunnel && SIDECAR_NOTE].filter(Boolean).join(' ');
  const adapter = {
    ...manifest,
    api,
    credentials,
    ...(notes && { setupNotes: notes }),
    domain: 'vpn' as const,
    facts: {},
    capabilities: [...(drivable ? ['proxy'] : []), ...(places ? ['places'] : []), ...(account ? ['account'] : [])],
    ...(drivable && {
      setup: { fields: credentials, owners: ['instance', 'org'], ...(groups.length > 0 && { oneOf: groups }) },
    }),
    connect(line: VpnLine<F>): Vpn {
      let known: Promise<Proxy> | undefined; // cached: some providers are asked for the login of the proxy
      async function find(): Promise<Proxy> {
        if (!drivable) throw refused('unsupported', setupNotes ?? manifest.description);
        const found = (await proxy?.(line)) ?? (tunnel && sidecarOf(line.values));
        if (!found) throw refused('rejected', `${manifest.title}: the settings lead to no proxy`);
        return found;
      }
      return {
        proxy: () =>
          (known ??= find().catch((error: unknown) => {
            known = undefined;
            throw error;
          })),
        ...(places && { places: () => places(line) }),
        ...(account && { account: () => account(line) }),
      };
    },
  };
  return adapter as unknown as VpnAdapter; // the registry checks values against the fields
}
