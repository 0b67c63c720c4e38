import { expect } from '@jest/globals';
import { AppError } from '../../../../src/platform/kernel/index.ts';
import { openOutbound } from '../../../../src/platform/outbound/index.ts';
import { isAddressField } from '../../../../src/providers/kit/declare/fields.ts';
import type { AnyAdapter } from '../../../../src/providers/registry/index.ts';
import { localProviders } from '../../worlds/providers.ts';
import { type Check, type LocalProviders, playedCases, type ProviderFixture, type Suite } from './provider.ts';

// What an adapter owes to whoever sets it up: a key and addresses.

/** The checks of the key: each notices a key that is refused, and one that lacks the right, in its last call. */
export function keyChecks<A extends AnyAdapter, Port, Fixture extends ProviderFixture>(
  suite: Suite<A, Port, Fixture>,
  adapter: A,
  fixture: Fixture,
): Check[] {
  const { fails } = playedCases(suite, adapter, fixture);
  const failures = { 401: 'reauthorize', 403: fixture.withoutRight ?? 'reauthorize' };
  return fixture.cases
    .filter(({ operation, failure, alike }) => operation === 'check' && failure === undefined && !alike)
    .map((one) => ({
      name: `check${one.name === undefined ? '' : ` (${one.name})`}: notices a key that is refused or lacks the right`,
      run: async () => {
        for (const [status, failure] of Object.entries(failures)) {
          const answer = { status: Number(status), json: { message: 'No' } };
          expect([status, (await fails(one, one.exchanges.length - 1, answer)).failure]).toEqual([status, failure]);
        }
      },
    }));
}

/** Addresses that a setting of a provider may not have, one of each class. */
export const REFUSED_ADDRESSES = [
  'http://models.example/v1',
  'ftp://models.example/v1',
  'https://user:password@models.example/v1',
  'https://localhost/v1',
  'https://0.0.0.0/v1',
  'https://10.1.2.3/v1',
  'https://100.64.0.1/v1',
  'https://127.0.0.1/v1',
  'https://169.254.169.254/v1',
  'https://172.16.0.1/v1',
  'https://192.0.2.1/v1',
  'https://192.168.1.1/v1',
  'https://198.18.0.1/v1',
  'https://224.0.0.1/v1',
  'https://255.255.255.255/v1',
  'https://2130706433/v1',
  'https://[::]/v1',
  'https://[::1]/v1',
  'https://[::ffff:10.0.0.1]/v1',
  'https://[64:ff9b::a00:1]/v1',
  'https://[2001:db8::1]/v1',
  'https://[2002:a00:1::]/v1',
  'https://[fd00::1]/v1',
  'https://[fe80::1]/v1',
] as const;

/** Adapters whose servers are named by people: `ask` asks one, and whatever it was told, nothing of its own network. */
export function addressChecks<A extends AnyAdapter, Port, Fixture extends ProviderFixture>(
  suite: Suite<A, Port, Fixture>,
  adapter: A,
  fixture: Fixture,
  ask: (port: Port) => Promise<unknown>,
): Check[] {
  const { fields = {} } = adapter.setup ?? {};
  const named = Object.entries(fields).flatMap(([name, field]) => (isAddressField(field) ? [name] : []));
  const refusalOf = async (providers: LocalProviders, name: string, address: string): Promise<unknown> => {
    try {
      const values = providers.fields({ credentials: fields }, { ...fixture.values, [name]: address });
      return await ask(suite.open(providers, adapter, values, fixture));
    } catch (error) {
      return error;
    }
  };
  return named.map((name) => ({
    name: `asks no address of its own network, whatever ${name} says`,
    run: async () => {
      await using outbound = openOutbound({ timeoutMs: 20_000, allowedPrivateCidrs: [] });
      await using providers = localProviders({ outbound });
      for (const address of REFUSED_ADDRESSES) {
        const error = await refusalOf(providers, name, address);
        expect([address, error]).toEqual([address, expect.any(AppError)]);
        // some are refused by the form of the field already
        const { status, failure, message } = error as AppError & { failure?: string };
        expect([address, failure ?? status, message]).toEqual(
          failure === undefined
            ? [address, 400, expect.any(String)]
            : [address, 'rejected', expect.stringContaining('Blocked URL')],
        );
      }
    },
  }));
}
