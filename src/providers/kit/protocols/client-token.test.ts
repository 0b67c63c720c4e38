import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../platform/kernel/index.ts';
import type { Exchange } from '../../../../test/support/peers/suites/provider.ts';
import { sharedWire } from '../../../../test/support/peers/suites/provider.ts';
import { localProviders } from '../../../../test/support/worlds/providers.ts';

const MINUTE = 60_000;
const TOKENS = 'https://oauth2.googleapis.com/token';
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const serviceAccountJson = JSON.stringify({
  type: 'service_account',
  private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  client_email: 'posts@market-7.iam.gserviceaccount.com',
});
const values = { project: 'market-7', location: 'europe-west1', serviceAccountJson };
const model = 'gemini-embedding-001';
const token = (name: string): Exchange => ({
  asks: { method: 'POST', url: TOKENS, form: expect.anything() as unknown as Record<string, string> },
  says: { json: { access_token: name, expires_in: 3_599 } },
});
const predicted = (name: string): Exchange => ({
  asks: {
    method: 'POST',
    url: `https://europe-west1-aiplatform.googleapis.com/v1/projects/market-7/locations/europe-west1/publishers/google/models/${model}:predict`,
    headers: { authorization: `Bearer ${name}` },
    json: { instances: [{ content: 'a' }] },
  },
  says: { json: { predictions: [{ embeddings: { values: [1], statistics: { token_count: 1 } } }] } },
});

describe('the token of a service account', () => {
  test('is asked for once in its hour, though the connection is replaced every ten minutes', async () => {
    const wire = await sharedWire();
    let ms = 0;
    const clock = { ...systemClock, monotonic: () => ms };
    await using providers = localProviders({ clock, outbound: wire.outbound });
    const asks = async (orgId: string) => {
      const ai = providers.ai(providers.resolve('ai', 'vertex'), { orgId, values });
      await ai.embed!({ model, values: ['a'] });
      return ai;
    };
    const hour = Array.from({ length: 6 }, () => predicted('first'));
    wire.plays([token('first'), ...hour, token('second'), predicted('second')]);
    const opened = new Set();
    for (ms = 0; ms < 55 * MINUTE; ms += 10 * MINUTE) opened.add(await asks('o'));
    ms = 60 * MINUTE;
    await asks('o');
    expect([wire.faults, wire.left, opened.size]).toEqual([[], 0, 6]);
    expect(wire.asked.filter((line) => line.includes(TOKENS))).toHaveLength(2);
  });

  test('is that of its owner and their settings alone: neither another organization nor a check uses it', async () => {
    const wire = await sharedWire();
    await using providers = localProviders({ outbound: wire.outbound });
    const adapter = providers.resolve('ai', 'vertex');
    const asks = (orgId: string, more: object = {}) =>
      providers.ai(adapter, { orgId, values: { ...values, ...more } }).embed!({ model, values: ['a'] });
    wire.plays([token('one'), predicted('one'), token('two'), predicted('two'), token('three'), predicted('three')]);
    await asks('o');
    await asks('p');
    await asks('o', { prices: '{}' });
    providers.forget({ domain: 'ai', id: 'vertex' }, 'o');
    wire.plays([token('four'), predicted('four')]);
    await asks('o');
    expect([wire.faults, wire.left]).toEqual([[], 0]);
    wire.plays([token('five')]);
    await providers.check(adapter, values, 'o')!.catch(() => undefined); // what it asks then is played elsewhere
    expect(wire.asked[0]).toContain(TOKENS);
  });
});
