import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openOutbound } from '../../../src/platform/outbound/index.ts';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { type AiFixture } from '../../fixtures/providers/ai/_ai.ts';
import { VENDOR_ORACLES, type VendorOracle } from '../../fixtures/providers/ai-oracles.ts';
import { aiSuite } from '../../support/peers/suites/ai.ts';
import { mediaSuite, NOW, textOf } from '../../support/peers/suites/media.ts';
import { describePeer, npmPeer, type Peer } from '../../support/peers/peers.ts';
import type { ProviderFixture } from '../../support/peers/suites/provider.ts';
import { deviationsOf } from '../../support/wire/deviations.ts';
import { type Recorder, startRecorder } from '../../support/wire/recorder.ts';
import { localProviders } from '../../support/worlds/providers.ts';

// Adapter and the vendor's SDK do the same, and what both sent is compared field by field. The cases are those of the
// fixtures.

await describePeer(
  'ai-sdks',
  () => npmPeer('ai-sdks'),
  ({ start }) => {
    const outbound = openOutbound({ timeoutMs: 20_000, allowedPrivateCidrs: ['127.0.0.1/32'] });
    const clock = { ...systemClock, now: () => NOW, sleep: async () => {} };
    let sdks: Peer;
    let recorder: Recorder;
    beforeAll(async () => {
      [sdks, recorder] = await Promise.all([start(), startRecorder(outbound)]);
    });
    afterAll(async () => {
      await sdks.stop();
      await recorder[Symbol.asyncDispose]();
      await outbound[Symbol.asyncDispose]();
    });

    const caseOf = ({ cases }: ProviderFixture, act: string) => {
      const one = cases.find(({ operation, name, input }) =>
        [
          [operation, name],
          [operation, input],
        ].some((words) => words.filter(Boolean).join(' ') === act),
      );
      if (!one) throw new Error(`No case ${act}`);
      return one;
    };
    const operate = async ({ domain, id }: VendorOracle, fixture: ProviderFixture, act: string): Promise<unknown> => {
      const { operation, input, values: more } = caseOf(fixture, act);
      await using providers = localProviders({ clock, outbound: recorder.outbound });
      const adapter = providers.resolve(domain, id);
      const values = providers.fields({ credentials: adapter.setup!.fields }, { ...fixture.values, ...more });
      if (operation === 'check') return providers.check(adapter, values);
      if (domain === 'ai') {
        const ai = aiSuite.open(providers, providers.resolve('ai', id), values, fixture as AiFixture);
        return aiSuite.operations[operation]!(ai, input);
      }
      const port = mediaSuite.open(providers, providers.resolve('media', id), values, fixture);
      return mediaSuite.operations[operation]!(port, input);
    };
    const byAdapter = (oracle: VendorOracle, fixture: ProviderFixture, act: string) =>
      recorder.record(caseOf(fixture, act).exchanges, async () =>
        expect(await operate(oracle, fixture, act)).toEqual(caseOf(fixture, act).result),
      );
    const bySdk = ({ id, answers }: VendorOracle, fixture: ProviderFixture, act: string) =>
      recorder.record([...(answers?.[act] ?? []), ...caseOf(fixture, act).exchanges], async () => {
        const { input, values } = caseOf(fixture, act);
        const login = { values: { ...fixture.values, ...values } };
        const body = { recorder: recorder.address, of: id, act, login, input: await withBytes(input) };
        const answer = await fetch(sdks.url, { method: 'POST', body: JSON.stringify(body) });
        expect([act, await answer.json()]).toEqual([act, {}]);
      });

    test.each(VENDOR_ORACLES)('$domain/$id is asked as $sdk asks it', async (oracle) => {
      const { domain, id, acts, everywhere = {}, beyond: there } = oracle;
      const { default: fixture } = (await import(`../../fixtures/providers/${domain}/${id}.ts`)) as {
        default: ProviderFixture;
      };
      const beyond = { ...everywhere, ...there };
      const deviations = new Set<string>();
      for (const act of acts) {
        const ours = await byAdapter(oracle, fixture, act);
        expect(ours.length).toBeGreaterThan(0);
        const theirs = await bySdk(oracle, fixture, act);
        for (const one of await deviationsOf(ours, theirs, Object.keys(everywhere))) deviations.add(one);
      }
      const unnamed = [...deviations].filter((one) => !(one in beyond));
      const stale = Object.keys(beyond).filter((one) => !deviations.has(one));
      expect({ unnamed, stale }).toEqual({ unnamed: [], stale: [] });
    });
  },
);

/** Input of a case as JSON, with bytes, and those of files, as base64. */
async function withBytes(value: unknown): Promise<unknown> {
  if (value instanceof Uint8Array) return { base64: Buffer.from(value).toString('base64') };
  if (Array.isArray(value)) return Promise.all(value.map(withBytes));
  if (typeof value !== 'object' || value === null) return value;
  const file = value as { open?: () => AsyncIterable<Uint8Array> };
  const bytes = file.open ? { base64: btoa(await textOf(file.open())) } : {};
  const kept = Object.entries(value).filter(([, one]) => typeof one !== 'function');
  const fields = await Promise.all(kept.map(async ([name, one]) => [name, await withBytes(one)] as const));
  return { ...Object.fromEntries(fields), ...bytes };
}
