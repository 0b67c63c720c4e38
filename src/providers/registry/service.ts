import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../platform/kernel/index.ts';
import type { Outbound } from '../../platform/outbound/index.ts';
import { keepOutOfLogs } from '../../platform/telemetry/index.ts';
import { type Domain, type Lifecycle, TIMEOUT_MS } from '../kit/declare/adapter.ts';
import type { Fields, Values } from '../kit/declare/fields.ts';
import type { App } from '../kit/protocols/oauth.ts';
import { openLines, type Outcome, secretsOf } from '../kit/wire/open-line.ts';
import { type AdapterOf, type AnyAdapter, openDomains } from './domains.ts';
import { type CatalogEntry, inOrder, catalogEntryOf } from './catalog-entry.ts';
import { adapters as registered } from './registry.gen.ts';
import { chooseVersion, immutable, knownDomain, lifecycleOf, readFields, type Resolve } from './rules.ts';

export interface ProvidersOptions {
  outbound: Outbound;
  /** Used for settings of the instance. Default: `outbound`. */
  operatorOutbound?: Outbound;
  clock: Clock;
  /** Registers the sandbox network (`SANDBOX_ENABLED`). */
  sandboxEnabled: boolean;
  /** Ids of the networks whose login is registered (`*_SSO_ENABLED`). */
  sso?: readonly string[];
  /** App credentials of the operator, by provider id; `server` where they belong to one of many servers. */
  apps?: Readonly<Record<string, App>>;
  /**
   * Base URLs that replace declared ones, by `domain/id`, or `domain/id/name` for a further host: of the sandbox, of
   * the directory of Bluesky, and of servers in tests.
   */
  servers?: Readonly<Record<string, string>>;
  /** Certificates (PEM) that are trusted for mail servers beside the usual ones. */
  authorities?: readonly string[];
  /** Timeout of a call whose adapter names none (`OUTBOUND_HTTP_TIMEOUT_MS`). */
  timeoutMs?: number;
  /**
   * Folder for files on this machine (`storage/local`), and for large answers until they are discarded; a process that
   * dies leaves those to the sweep of uploads.
   */
  folder?: string;
  /** Name of this service, shown to networks where an app is registered. */
  appName?: string;
  /** Service that answers the address of the caller (`EGRESS_ECHO_URL`). */
  echoUrl?: string;
  /** Adapters beside the product's own. */
  adapters?: readonly AnyAdapter[];
  /** Called with the outcome of each operation of an adapter. */
  onCall?: (outcome: Outcome) => void;
}

/** The registered providers: their versions and catalog entries, and the functions that open them. */
export interface Providers extends ReturnType<typeof openDomains> {
  /** Lists the registered adapters, of one domain when given. */
  list(): readonly AnyAdapter[];
  list<D extends keyof AdapterOf>(domain: D): readonly AdapterOf[D][];
  list(domain?: Domain): readonly AnyAdapter[];
  /**
   * Chooses a version by the rules of S158: 400 `unknown_version`, 410 `version_retired`, 400 `version_deprecated` or
   * `preview_not_allowed` for a new row.
   */
  resolve<D extends keyof AdapterOf>(domain: D, id: string, options?: Resolve): AdapterOf[D];
  /** Answers the status of a version (VE1). */
  status(adapter: AnyAdapter): Lifecycle;
  /**
   * Lists catalog entries, featured ones first, then by name; 400 `unknown_domain`. `featured`: sort order by
   * `domain/id`.
   */
  catalog(domain?: string, featured?: ReadonlyMap<string, number>): CatalogEntry[];
  /**
   * Checks typed fields against the adapter's declaration: fills in defaults, completes addresses, 400 with every
   * fault. `at` prefixes the field names.
   */
  fields(adapter: Pick<AnyAdapter, 'credentials'>, input: Readonly<Record<string, unknown>>, at?: string): Values;
  /**
   * Asks the provider whether it accepts these values; may answer a sentence about them, and throws a refusal.
   * Undefined where the provider cannot be asked. `owner`: null for settings of the instance.
   */
  check(adapter: AnyAdapter, values: Values, owner?: string | null): Promise<string | void> | undefined;
  /** Drops the connections of an owner after its settings were changed. */
  forget(provider: { domain: string; id: string }, orgId: string | null): void;
}

/** Names the secret fields of credentials, settings and logins. */
function secretFieldsOf({ credentials, setup, ...adapter }: AnyAdapter): string[] {
  const login = 'login' in adapter && 'fields' in adapter.login ? (adapter.login.fields as Fields) : {};
  return [credentials, setup?.fields ?? {}, login].flatMap((fields) =>
    Object.keys(fields).filter((name) => fields[name]!.secret),
  );
}

const secretFields = [...new Set(registered.flatMap(secretFieldsOf))];
/** Large answers of a service without a folder. */
const ANSWERS = join(tmpdir(), 'rookery-answers');

/** Opens the registry. Needs no database. */
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
  keepOutOfLogs([...secretFields, ...adapters.flatMap(secretFieldsOf)]);
  const all: readonly AnyAdapter[] = known
    .filter(
      ({ id, optional }) => optional === undefined || (optional === 'sandbox' ? sandboxEnabled : sso.includes(id)),
    )
    .map(immutable);
  const named = Map.groupBy(all, ({ domain, id }) => `${domain}/${id}`);
  const status = (adapter: AnyAdapter) => lifecycleOf(adapter, all, clock.now());
  const lines = openLines({
    outbound,
    operatorOutbound,
    clock,
    servers,
    authorities,
    timeoutMs,
    folder,
    answersFolder: folder === undefined ? ANSWERS : join(folder, '.incoming'),
    onCall,
  });
  const domains = openDomains(lines, { apps, appName, outbound, echoUrl });

  return {
    // the overloads state the type
    list: (domain?: Domain) => all.filter((adapter) => domain === undefined || adapter.domain === domain) as never,
    resolve: <D extends keyof AdapterOf>(domain: D, id: string, options: Resolve = {}) =>
      chooseVersion(named.get(`${domain}/${id}`) ?? [], domain, id, options, clock.now()) as AdapterOf[D],
    status,
    catalog(domain, featured = new Map()) {
      const wanted = domain === undefined ? undefined : knownDomain(domain);
      const shown = all.filter((adapter) => wanted === undefined || adapter.domain === wanted);
      return shown
        .map((adapter) =>
          catalogEntryOf(adapter, status(adapter), featured.get(`${adapter.domain}/${adapter.id}`) ?? null),
        )
        .toSorted(inOrder);
    },
    fields: (adapter, input, at) => readFields(adapter.credentials, input, at),
    check: (adapter, values, owner) =>
      adapter.domain === 'vpn'
        ? domains.routes.check(adapter, values, owner)
        : adapter.check &&
          lines.call(adapter, { secrets: secretsOf(adapter, values) }, () =>
            adapter.check!(lines.open(adapter, values, { owner })),
          ),
    forget: lines.forget,
    ...domains,
  };
}
