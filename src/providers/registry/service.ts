import type { Clock } from '../../platform/kernel/index.ts';
import type { Outbound } from '../../platform/outbound/index.ts';
import { keepOutOfLogs } from '../../platform/telemetry/index.ts';
import { type Domain, type Lifecycle, TIMEOUT_MS } from '../kit/declare/adapter.ts';
import type { Fields, Values } from '../kit/declare/fields.ts';
import { openLines, type Outcome, secretsOf } from '../kit/wire/open-line.ts';
import { type AdapterOf, type AnyAdapter, openDomains } from './domains.ts';
import { type CatalogEntry, inOrder, presentCatalogEntry } from './present.ts';
import { adapters as registered } from './registry.gen.ts';
import { chooseVersion, immutable, knownDomain, lifecycleOf, readFields, type Resolve } from './rules.ts';

export interface ProvidersOptions {
  outbound: Outbound;
  /** What settings of the instance call by; the same where it is not given. */
  operatorOutbound?: Outbound;
  clock: Clock;
  /** Whether the network of our own is registered (`SANDBOX_ENABLED`). */
  sandboxEnabled: boolean;
  /** Networks whose login is registered (`*_SSO_ENABLED`), by id. */
  sso?: readonly string[];
  /** App credentials of the operator, by provider id; `server` where they belong to one server of many. */
  apps?: Readonly<Record<string, { clientId: string; clientSecret: string; server?: string }>>;
  /** Base URL instead of the declared one, by `domain/id`, or of a further host by `domain/id/name`: the sandbox, the directory of Bluesky, and servers of tests. */
  servers?: Readonly<Record<string, string>>;
  /** Certificates (PEM) that mail servers may have beside the usual ones. */
  authorities?: readonly string[];
  /** Milliseconds of a call to a provider that names none (`OUTBOUND_HTTP_TIMEOUT_MS`). */
  timeoutMs?: number;
  /** Where files are kept on this machine (`storage/local`). */
  folder?: string;
  /** Of this service, shown to networks where an app is registered. */
  appName?: string;
  /** Answers the address of whoever asks (`EGRESS_ECHO_URL`). */
  echoUrl?: string;
  /** Registered beside the product's own. */
  adapters?: readonly AnyAdapter[];
  /** Told how each operation of an adapter ended. */
  onCall?: (outcome: Outcome) => void;
}

/** The registered providers: what is known of them, and the functions that open them. */
export interface Providers extends ReturnType<typeof openDomains> {
  /** The adapters that are registered in this process, of one domain when given. */
  list(): readonly AnyAdapter[];
  list<D extends keyof AdapterOf>(domain: D): readonly AdapterOf[D][];
  list(domain?: Domain): readonly AnyAdapter[];
  /** One version by the rules of S158: 400 `unknown_version`, 410 `version_retired`, 400 `version_deprecated` or `preview_not_allowed` for a new row. */
  resolve<D extends keyof AdapterOf>(domain: D, id: string, options?: Resolve): AdapterOf[D];
  /** Where a version stands now (VE1). */
  status(adapter: AnyAdapter): Lifecycle;
  /** Catalog entries of registered providers, featured ones first, then by name; 400 `unknown_domain`. `featured`: sort order by `domain/id`. */
  catalog(domain?: string, featured?: ReadonlyMap<string, number>): CatalogEntry[];
  /** Checks typed fields against the adapter's declaration: defaults filled in, addresses made whole, 400 with every fault. `at` prefixes the field names. */
  fields(adapter: Pick<AnyAdapter, 'credentials'>, input: Readonly<Record<string, unknown>>, at?: string): Values;
  /** Asks the provider whether it takes these values: what it says of them, in words where it has any. A refusal is thrown. Undefined: nothing can be asked. `owner`: null for settings of the instance. */
  check(adapter: AnyAdapter, values: Values, owner?: string | null): Promise<string | void> | undefined;
  /** The settings of an owner were changed: what is open with them is opened anew. */
  forget(provider: { domain: string; id: string }, orgId: string | null): void;
}

/** The fields of a person's login, of settings and of a login at a network that their declarations call secret. */
function secretFieldsOf({ credentials, setup, ...adapter }: AnyAdapter): string[] {
  const login = 'login' in adapter && 'fields' in adapter.login ? (adapter.login.fields as Fields) : {};
  return [credentials, setup?.fields ?? {}, login].flatMap((fields) => Object.keys(fields).filter((name) => fields[name]!.secret));
}

/** The room of providers: the registry, and the ways to what it holds. Needs no database. */
export function openProviders({
  outbound,
  operatorOutbound = outbound,
  clock,
  sandboxEnabled,
  sso = [],
  apps = {},
  servers = {},
  authorities = [],
  timeoutMs = TIMEOUT_MS,
  folder,
  appName = 'Rookery',
  echoUrl = 'https://api.ipify.org?format=json',
  adapters = [],
  onCall = () => {},
}: ProvidersOptions): Providers {
  const known = [...registered, ...adapters];
  keepOutOfLogs(known.flatMap(secretFieldsOf));
  const all: readonly AnyAdapter[] = known
    .filter(({ id, optional }) => optional === undefined || (optional === 'sandbox' ? sandboxEnabled : sso.includes(id)))
    .map(immutable);
  const status = (adapter: AnyAdapter) => lifecycleOf(adapter, all, clock.now());
  const lines = openLines({ outbound, operatorOutbound, clock, servers, authorities, timeoutMs, folder, onCall });
  const domains = openDomains(lines, { apps, appName, outbound, echoUrl });

  return {
    list: (domain?: Domain) => all.filter((adapter) => domain === undefined || adapter.domain === domain) as never, // which its overloads name
    resolve: <D extends keyof AdapterOf>(domain: D, id: string, options: Resolve = {}) => chooseVersion(all, domain, id, options, clock.now()) as AdapterOf[D],
    status,
    catalog(domain, featured = new Map()) {
      const wanted = domain === undefined ? undefined : knownDomain(domain);
      const shown = all.filter((adapter) => wanted === undefined || adapter.domain === wanted);
      return shown.map((adapter) => presentCatalogEntry(adapter, status(adapter), featured.get(`${adapter.domain}/${adapter.id}`) ?? null)).toSorted(inOrder);
    },
    fields: (adapter, input, at) => readFields(adapter.credentials, input, at),
    check: (adapter, values, owner) =>
      adapter.domain === 'vpn'
        ? domains.routes.check(adapter, values, owner)
        : adapter.check && lines.call(adapter, { secrets: secretsOf(adapter, values) }, () => adapter.check!(lines.open(adapter, values, { owner }))),
    forget: lines.forget,
    ...domains,
  };
}
