import { describe, expect, test } from '@jest/globals';
import { AppError, ProviderError, systemClock } from '../../../platform/kernel/index.ts';
import type { Outbound } from '../../../platform/outbound/index.ts';
import { email } from '../../email/_contract.ts';
import { secret } from '../declare/fields.ts';
import { openLines, type Outcome } from './open-line.ts';

const adapter = email({
  id: 'demo',
  version: 'v1',
  title: 'Demo',
  description: 'Demo.',
  authType: 'api_key',
  credentials: { key: secret('Key') },
  api: 'https://demo.example',
});

function world() {
  const outcomes: boolean[] = [];
  const onCall = ({ ok, ...of }: Outcome) => {
    expect(of).toEqual({ domain: 'email', id: 'demo', version: 'v1' });
    outcomes.push(ok);
  };
  const lines = openLines({
    outbound: {} as Outbound,
    operatorOutbound: {} as Outbound,
    clock: systemClock,
    servers: {},
    authorities: [],
    timeoutMs: 30_000,
    folder: undefined,
    answersFolder: '',
    onCall,
  });
  const guard = <T extends object>(contract: T) => lines.guard(adapter, contract, { secrets: ['the-key'] });
  return { lines, guard, outcomes };
}

test('guard counts each operation once, also of nested contracts, and no synchronous method', async () => {
  const { guard, outcomes } = world();
  const port = guard({
    name: 'x',
    address: () => 'here',
    send: async (n: number) => n,
    parts: { begin: async () => 'p' },
  });
  expect([port.name, port.address(), await port.send(7), await port.parts.begin()]).toEqual(['x', 'here', 7, 'p']);
  expect(outcomes).toEqual([true, true]);
});

test.each([
  [new ProviderError('unavailable', 'gone'), [false]],
  [new ProviderError('reauthorize', 'wrong key'), [false]],
  [new ProviderError('unsupported', 'not offered'), []],
  [new AppError('too_large', 'ours'), []],
  [new TypeError('a fault of the adapter'), [false]],
])('of failures those of the provider and of its adapter count: %s', async (error, counted) => {
  const { guard, outcomes } = world();
  await expect(
    guard({
      send: async (): Promise<void> => {
        throw error;
      },
    }).send(),
  ).rejects.toBe(error);
  expect(outcomes).toEqual(counted);
});

test("guard redacts an adapter's own message, and keeps failure, wait and reason", async () => {
  const { guard, lines } = world();
  const failing = () =>
    Promise.reject(
      new ProviderError('rate_limited', 'the-key is used too often', { retryAfterMs: 5, reason: 'server' }),
    );
  for (const failed of [guard({ send: failing }).send(), lines.call(adapter, { secrets: ['the-key'] }, failing)])
    await expect(failed).rejects.toMatchObject({
      failure: 'rate_limited',
      retryAfterMs: 5,
      reason: 'server',
      message: '*** is used too often',
    });
});

describe('guard, of an answer in pieces', () => {
  async function* pieces(failure?: Error): AsyncGenerator<number> {
    yield 1;
    yield 2;
    if (failure) throw failure;
  }
  const read = async (stream: AsyncIterable<number>, most = Infinity) => {
    const seen: number[] = [];
    for await (const one of stream) if (seen.push(one) >= most) break;
    return seen;
  };

  test('counts it once, at its end', async () => {
    const { guard, outcomes } = world();
    expect(await read(guard({ stream: () => pieces() }).stream())).toEqual([1, 2]);
    expect(outcomes).toEqual([true]);
  });

  test('counts nothing when the reader leaves', async () => {
    const { guard, outcomes } = world();
    expect(await read(guard({ stream: () => pieces() }).stream(), 1)).toEqual([1]);
    expect(outcomes).toEqual([]);
  });

  test('counts and redacts its failure', async () => {
    const { guard, outcomes } = world();
    const { stream } = guard({ stream: () => pieces(new ProviderError('lost', 'the-key was used')) });
    await expect(read(stream())).rejects.toMatchObject({ failure: 'lost', message: '*** was used' });
    expect(outcomes).toEqual([false]);
  });
});
