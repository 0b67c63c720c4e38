import { afterAll, describe, expect, test } from '@jest/globals';
import { readdir } from 'node:fs/promises';
import { inspect } from 'node:util';
import {
  type Clock,
  type ProviderFailure,
  type ProviderReason,
  systemClock,
} from '../../../../src/platform/kernel/index.ts';
import { openOutbound } from '../../../../src/platform/outbound/index.ts';
import type { AnyAdapter, ProvidersOptions } from '../../../../src/providers/registry/index.ts';
import type { Fields } from '../../../../src/providers/kit/declare/fields.ts';
import { catalogEntryOf } from '../../../../src/providers/registry/catalog-entry.ts';
import { adapters as registered } from '../../../../src/providers/registry/registry.gen.ts';
import { failureOf } from '../fake-network.ts';
import { localProviders } from '../../worlds/providers.ts';

/** Providers on a wire. */
export type LocalProviders = ReturnType<typeof localProviders>;
import { type Exchange, type Instead, type Says, startWire, type Wire } from '../../wire/wire.ts';

export type { Asks, Exchange, Says } from '../../wire/wire.ts';

/** One operation of a provider as its facts have it. Without exchanges nobody is asked. */
export interface Case {
  /** A name of `Suite.operations`, or `check`. */
  operation: string;
  /** Tells several cases of one operation apart. */
  name?: string;
  /** Credentials in the place of those of the fixture; an empty text leaves one out. */
  values?: Readonly<Record<string, string>>;
  input?: unknown;
  exchanges: readonly Exchange[];
  /** It goes the way of another case, whose exchanges are broken. */
  alike?: true;
  /** The result, or the failure of an unsupported operation. */
  result?: unknown;
  failure?: ProviderFailure;
  /** It fails as content that is there already. */
  reason?: 'duplicate';
}
/** A refusal as the provider documents it. */
export interface Refusal {
  name: string;
  operation: string;
  /** The name of the case that is refused; default the first of this operation. */
  of?: string;
  /** Which of its exchanges; default the first. */
  at?: number;
  says: Says;
  failure: ProviderFailure;
  /** What a rejection is about; a fault of the server goes by the status. */
  reason?: Exclude<ProviderReason, 'server'>;
  retryAfterMs?: number;
  /** What the error says, among other words. */
  sentence?: string;
}
/** The export of an adapter's fixture file, which is written from the provider's documents, not from the adapter. */
export interface ProviderFixture {
  /** Credentials as a person would type them. */
  values: Readonly<Record<string, string>>;
  /** The fields that the facts call secret. */
  secret: readonly string[];
  /** Facts that no call shows, by the names of `Suite.declared`. */
  declares?: Readonly<Record<string, unknown>>;
  cases: readonly Case[];
  refusals: readonly Refusal[];
  /** When all of this happens, where a call says so. */
  now?: Date;
  /** 429 means something else here, and stands among the refusals. */
  noRateLimit?: true;
  /** What is told of a key that lacks the right for a call, which is 403. Default: `reauthorize`. */
  withoutRight?: ProviderFailure;
}

let opened: Promise<Wire & { real: AsyncDisposable }> | undefined;
/** One wire for all checks of a file, each of which plays its own exchanges. `closeWire` closes it. */
export async function sharedWire(): Promise<Wire> {
  opened ??= (async () => {
    const real = openOutbound({ timeoutMs: 20_000, allowedPrivateCidrs: ['127.0.0.1/32'] });
    return Object.assign(await startWire(real), { real });
  })();
  return opened;
}
async function closeWire(): Promise<void> {
  const wire = await opened;
  opened = undefined;
  await wire?.real[Symbol.asyncDispose]();
  await wire?.[Symbol.asyncDispose]();
}

/** The part of a suite that a domain adds: the way to open its adapters, and the names of their operations. */
export interface Suite<A extends AnyAdapter, Port, Fixture extends ProviderFixture = ProviderFixture> {
  domain: A['domain'];
  /** Beside the way out: such as a clock that waits for nothing. */
  options?: Partial<ProvidersOptions>;
  open(providers: LocalProviders, adapter: A, values: Readonly<Record<string, string>>, fixture: Fixture): Port;
  /** The fields that `ProviderFixture.values` fill. Default: those of the settings, else the credentials. */
  fieldsOf?(adapter: A): Fields;
  /** Secrets of an operation beside those of the fields: tokens, or the app's. No failure shows them. */
  hidden?(operation: string, fixture: Fixture, input: unknown): readonly string[];
  /** Whether an exchange is broken in every way, beside being played. Default: each is. */
  breaks?(one: Case, at: number, fixture: Fixture): boolean;
  /** Refusals may name addresses that are signed: no failure shows a signature. */
  hidesSignatures?: true;
  /** The failure after a status 500 of a call that creates. Default: `lost`. */
  serverError?: ProviderFailure;
  /** Further checks of an adapter with its fixture. */
  more?(adapter: A, fixture: Fixture): readonly Check[];

  /** Reads declared facts that no call shows, such as limits: each fixture must state the same of its values. */
  declared?(adapter: A, values: Readonly<Record<string, string>>): Readonly<Record<string, unknown>>;
  operations: Readonly<Record<string, (port: Port, input: any) => Promise<unknown>>>; // oxlint-disable-line typescript/no-explicit-any -- each domain knows its inputs
}
/** One thing that an adapter owes; it throws where the adapter owes it still. */
export interface Check {
  name: string;
  run(): Promise<void>;
}

const MINUTES_5 = 300_000;
const SIGNATURE = '6b1f0c2d9e8a47f3';

/** The checks of the declaration, for adapters of every domain. */
export function manifestChecks(adapter: AnyAdapter): Check[] {
  const check = (name: string, run: () => void): Check => ({ name, run: async () => run() });
  const fields = Object.entries({ ...adapter.setup?.fields, ...adapter.credentials });
  return [
    check('is named by domain, lower case id and version [VE14, VE15]', () => {
      expect(adapter.id).toMatch(/^[a-z0-9][a-z0-9_-]*$/);
      expect(adapter.version).toMatch(/^v[1-9]\d*$/);
      expect(adapter.title.trim()).toMatch(/^\S.*$/);
      expect(adapter.description).toMatch(/^\S.*\.$/);
      if (adapter.website !== undefined) expect(new URL(adapter.website).protocol).toBe('https:');
    }),
    check('declares a field for every placeholder of its address, and an address with encryption', () => {
      for (const [, name] of adapter.api.matchAll(/\{(\w+)\}/g)) expect(fields.map(([field]) => field)).toContain(name);
      if (adapter.optional !== 'sandbox' && adapter.api.startsWith('http')) expect(adapter.api).toMatch(/^https:\/\//);
      if (adapter.auth && 'field' in adapter.auth) expect(adapter.credentials[adapter.auth.field]?.secret).toBe(true);
    }),
    check('labels every field, and declares no default that is secret or invalid', () => {
      for (const [name, field] of fields) {
        expect([name, field.label.trim() !== '']).toEqual([name, true]);
        if (field.secret) expect([name, field.default ?? '']).toEqual([name, '']);
        if (field.validation && field.default)
          expect(field.default).toMatch(new RegExp(`^(?:${field.validation})$`, 'u'));
        if (field.options && field.default) expect(field.options.map(({ value }) => value)).toContain(field.default);
      }
    }),
    check('has valid dates, and a date of deprecation only when it is deprecated or retired [VE20]', () => {
      for (const date of [adapter.deprecatedAt, adapter.sunsetAt])
        if (date !== undefined) expect(new Date(date).toJSON()).not.toBeNull();
      const leaving = adapter.status === 'deprecated' || adapter.status === 'retired';
      expect(adapter.deprecatedAt === undefined || leaving).toBe(true);
    }),
    check('has a catalog entry that survives JSON and claims no live key [PV6, PV7]', () => {
      const entry = catalogEntryOf(adapter, 'active');
      expect(JSON.parse(JSON.stringify(entry))).toEqual(entry);
      expect(entry.verified).toBe(false);
      expect(entry.capabilities.operations).toEqual([...new Set(entry.capabilities.operations)]);
    }),
  ];
}

/** The cases of an adapter, each of which is played on the wire by itself. */
export function playedCases<A extends AnyAdapter, Port, Fixture extends ProviderFixture>(
  suite: Suite<A, Port, Fixture>,
  adapter: A,
  fixture: Fixture,
) {
  const now = () => fixture.now ?? systemClock.now();
  /** On which nobody waits before a call is sent again. */
  const clock: Clock = {
    ...systemClock,
    now,
    in: (ms) => new Date(now().getTime() + ms),
    sleep: async () => {},
  };
  const secretsOf = ({ operation, values, input }: Case) => [
    ...fixture.secret.flatMap((name) => ({ ...fixture.values, ...values })[name] || []),
    ...(suite.hidden?.(operation, fixture, input) ?? []),
  ];
  const operate = (
    providers: LocalProviders,
    one: A,
    { operation, input, values: other }: Pick<Case, 'operation' | 'input' | 'values'>,
  ): Promise<unknown> => {
    const typed = { ...fixture.values, ...other };
    const typable = suite.fieldsOf?.(one) ?? one.setup?.fields ?? one.credentials;
    const values = providers.fields({ credentials: typable }, typed);
    if (operation === 'check')
      return providers.check(one, values) ?? Promise.reject(new Error(`${one.id} cannot be asked`));
    const run = suite.operations[operation];
    if (!run) throw new Error(`The suite knows no operation ${operation}`);
    return run(suite.open(providers, one, values, fixture), input);
  };

  /** The case on the wire; `instead` at one exchange. */
  async function play<T>(
    one: Case,
    instead: { at: number; answer: Instead } | undefined,
    judge: (work: Promise<unknown>, wire: Wire) => Promise<T>,
  ): Promise<T> {
    const wire = await sharedWire();
    await using providers = localProviders({ clock, ...suite.options, outbound: wire.outbound });
    wire.plays(one.exchanges, instead);
    const judged = await judge(
      Promise.resolve().then(() => operate(providers, adapter, one)),
      wire,
    );
    if (wire.faults.length > 0) expect(wire.faults).toEqual([]);
    return judged;
  }
  /** The failure of a case when one of its exchanges is answered otherwise; it shows no secret. */
  const fails = (one: Case, at: number, answer: Instead) =>
    play(one, { at, answer }, async (work, { asked }) => {
      const error = await failureOf(work);
      const shown = inspect(error, { depth: 9 }) + JSON.stringify(error) + error.message;
      const hidden = [...secretsOf(one), ...(suite.hidesSignatures ? [SIGNATURE] : [])];
      const forms = hidden.flatMap((secret) => [secret, encodeURIComponent(secret), btoa(secret)]);
      const told = forms.filter((form) => shown.includes(form));
      if (told.length > 0) expect(told).toEqual([]);
      const { failure, reason, retryAfterMs, message } = error;
      return { failure, reason, retryAfterMs, message, times: asked.length - at };
    });
  return { now, secretsOf, play, fails };
}

/**
 * The checks on the wire: each operation as documented, each failure by its word, no secret shown, no request to
 * another place.
 */
export function wireChecks<A extends AnyAdapter, Port, Fixture extends ProviderFixture>(
  suite: Suite<A, Port, Fixture>,
  adapter: A,
  fixture: Fixture,
): Check[] {
  const fields = { ...adapter.setup?.fields, ...adapter.credentials };
  const { now, secretsOf, play, fails } = playedCases(suite, adapter, fixture);

  const checks: Check[] = [];
  const add = (name: string, run: () => Promise<void>) => void checks.push({ name, run });
  add('declares the secret fields of its facts as secret', async () => {
    const kept = Object.keys(fields).filter((name) => fields[name]!.secret);
    expect(kept.toSorted()).toEqual([...fixture.secret].toSorted());
  });
  if (suite.declared)
    add('declares the facts that no call shows', async () =>
      expect(suite.declared!(adapter, fixture.values)).toEqual(fixture.declares),
    );

  for (const one of fixture.cases) {
    const title = one.name === undefined ? one.operation : `${one.operation} (${one.name})`;
    add(`${title}: sends exactly the documented requests, and reads the answer`, () =>
      play(one, undefined, async (work, wire) => {
        if (one.failure !== undefined) {
          const { failure, reason } = await failureOf(work);
          expect([failure, reason === 'duplicate']).toEqual([one.failure, one.reason === 'duplicate']);
        } else {
          const outcome = await work.catch((error: unknown) => ({ failed: error }));
          expect(wire.faults).toEqual([]); // says more than the failure that followed from it
          expect(outcome).toEqual(one.result);
        }
        expect(wire.left).toBe(0);
      }),
    );

    for (const [at, { says, creates, unread, optional }] of one.exchanges.entries()) {
      if (optional || one.alike || suite.breaks?.(one, at, fixture) === false) continue;
      const step = `${title}, exchange ${at + 1}`;
      const unknown = creates ? 'lost' : 'unavailable';
      add(`${step}: a broken connection, no answer and a server error are ${unknown}`, async () => {
        for (const answer of ['cut', 'hang-up', 'silence', 'half', { status: 500 }] as const) {
          if (answer === 'half' && unread) continue; // the status was all that it waited for
          const { failure, times } = await fails(one, at, answer);
          const stated = creates && typeof answer === 'object' ? suite.serverError : undefined;
          expect([answer, failure]).toEqual([answer, stated ?? unknown]);
          if (creates) expect(times).toBe(1);
        }
      });
      add(`${step}: is unavailable where no connection is made`, async () =>
        expect(await fails(one, at, 'unsent')).toMatchObject({ failure: 'unavailable', times: 0 }),
      );
      add(`${step}: follows no redirect`, async () =>
        expect((await fails(one, at, 'redirect')).failure).toBe('rejected'),
      );
      add(`${step}: shows no secret, whatever the refusal repeats`, async () => {
        const echo = [
          ...(suite.hidesSignatures ? [`https://files.example/a.png?X-Signature=${SIGNATURE}#b`] : []),
          ...secretsOf(one).flatMap((secret) => [secret, encodeURIComponent(secret), btoa(secret)]),
        ].join(' ');
        for (const words of [{ json: { error: echo, message: `Bearer ${echo}` } }, { text: echo }])
          await fails(one, at, { status: 400, ...words });
      });
      if (!unread && (says.json !== undefined || says.text !== undefined))
        add(`${step}: refuses an empty answer, half an answer and a page`, async () => {
          const page = { text: '<!doctype html><title>Sign in</title>', headers: { 'content-type': 'text/html' } };
          for (const answer of [{ text: '' }, { text: '{"half' }, page])
            expect([answer, (await fails(one, at, answer)).failure]).toEqual([answer, unknown]);
        });
      if (!fixture.noRateLimit)
        add(`${step}: reads Retry-After in seconds and as a date`, async () => {
          const wait = (value?: string) =>
            fails(one, at, { status: 429, ...(value !== undefined && { headers: { 'retry-after': value } }) });
          expect(await wait('120')).toMatchObject({ failure: 'rate_limited', retryAfterMs: 120_000 });
          const { retryAfterMs } = await wait(new Date(now().getTime() + 3_600_000).toUTCString());
          expect(Math.abs(retryAfterMs! - 3_600_000)).toBeLessThan(MINUTES_5);
          for (const value of [undefined, 'soon'])
            expect(await wait(value)).toMatchObject({ failure: 'rate_limited', retryAfterMs: undefined });
        });
    }
  }

  for (const { name, operation, of, at = 0, says, failure, reason, retryAfterMs, sentence } of fixture.refusals)
    add(`${operation}${of === undefined ? '' : ` (${of})`}: ${name} is ${failure}`, async () => {
      const one = fixture.cases.find((each) => each.operation === operation && (of === undefined || each.name === of));
      if (!one) throw new Error(`No case of ${operation} ${of ?? ''} to be refused`);
      const refused = await fails(one, at, says);
      expect(refused.failure).toBe(failure);
      if (refused.reason !== 'server') expect(refused.reason).toBe(reason);
      if (sentence !== undefined) expect(refused.message).toContain(sentence);
      // as instants they are nearer by now
      if (retryAfterMs !== undefined) expect(Math.abs(refused.retryAfterMs! - retryAfterMs)).toBeLessThan(MINUTES_5);
    });
  return checks;
}

/** Every operation that an adapter says it has is shown by a case; `beyond`: those that are shown elsewhere. */
export const coverageCheck = (
  adapter: AnyAdapter,
  fixture: ProviderFixture,
  beyond: readonly string[] = [],
): Check => ({
  name: 'has a fixture for every operation that it declares',
  run: async () => {
    const shown = new Set([...beyond, ...fixture.cases.map(({ operation }) => operation)]);
    const declared = [...adapter.capabilities, ...(adapter.check ? ['check'] : [])];
    expect(declared.filter((operation) => !shown.has(operation))).toEqual([]);
  },
});

/**
 * The contract of a domain: every registered adapter against its fixture `test/fixtures/providers/<domain>/<id>.ts`, of
 * a later version `<id>.v<n>.ts`. An adapter without one fails. `without`: adapters that have no wire, or another one.
 * `beyond`: operations that are shown elsewhere.
 */
export async function describeProviders<A extends AnyAdapter, Port, Fixture extends ProviderFixture>(
  suite: Suite<A, Port, Fixture>,
  { without = [], beyond = [] }: { without?: readonly string[]; beyond?: readonly string[] } = {},
): Promise<void> {
  const { domain } = suite;
  const adapters = registered.filter((adapter): adapter is A => adapter.domain === domain);
  const folder = new URL(`../../../fixtures/providers/${domain}/`, import.meta.url);
  const wired = adapters.filter(({ id }) => !without.includes(id));
  const fixtureOf = ({ id, version }: A) => (version === 'v1' ? id : `${id}.${version}`);

  test('every adapter file is registered, and every registered adapter has its fixture', async () => {
    const names = async (url: URL, pattern: RegExp) =>
      (await readdir(url)).flatMap((name) => pattern.exec(name)?.[1] ?? []).toSorted();
    const files = await names(new URL(`../../../../src/providers/${domain}/`, import.meta.url), /^([^_].*\.v\d+)\.ts$/);
    expect(adapters.map(({ id, version }) => `${id}.${version}`).toSorted()).toEqual(files);
    expect(await names(folder, /^([^_.][^.]*(?:\.v\d+)?)\.ts$/)).toEqual(wired.map(fixtureOf).toSorted());
  });

  afterAll(closeWire);
  let cases = 0;
  const run = (checks: readonly Check[]) => {
    cases += checks.length;
    for (const check of checks) test(check.name, check.run);
  };
  for (const adapter of adapters) {
    const fixture = wired.includes(adapter)
      ? await import(new URL(`${fixtureOf(adapter)}.ts`, folder).pathname).then(
          (module: { default: Fixture }) => module.default,
          () => undefined, // which the test above names
        )
      : undefined;
    describe(`${domain}/${adapter.id}@${adapter.version}`, () => {
      run(manifestChecks(adapter));
      if (!fixture) return;
      run([coverageCheck(adapter, fixture, beyond), ...wireChecks(suite, adapter, fixture)]);
      run(suite.more?.(adapter, fixture) ?? []);
    });
  }
  process.stderr.write(`${domain}: ${adapters.length} adapters, ${cases} cases\n`);
}
