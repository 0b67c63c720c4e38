import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openOutbound } from '../../../../src/platform/outbound/index.ts';
import { systemClock } from '../../../../src/platform/kernel/index.ts';
import type { Media } from '../../../../src/providers/registry/index.ts';
import { describePeer, npmPeer, type Peer } from '../../../support/peers/peers.ts';
import { NOW, POST_ID, type PostInput, type SocialFixture, socialSuite } from '../../../support/peers/suites/social.ts';
import { deviationsOf } from '../../../support/wire/deviations.ts';
import { type Recorder, startRecorder } from '../../../support/wire/recorder.ts';
import type { Exchange } from '../../../support/wire/wire.ts';
import { localProviders } from '../../../support/worlds/providers.ts';
import { ORACLES } from '../../../fixtures/providers/social-oracles.ts';

// Adapter and SDK do the same, and what both sent is compared field by field. The cases are those of the fixtures.

await describePeer(
  'social-sdks',
  () => npmPeer('social-sdks'),
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

    const caseOf = ({ cases }: SocialFixture, act: string) => {
      const one = cases.find(({ operation, name }) => [operation, name].filter(Boolean).join(' ') === act);
      if (!one) throw new Error(`No case ${act}`);
      return one;
    };
    const byAdapter = (id: string, fixture: SocialFixture, act: string) =>
      recorder.record(caseOf(fixture, act).exchanges, async () => {
        await using providers = localProviders({ clock, outbound: recorder.outbound });
        const { operation, input, result } = caseOf(fixture, act);
        const adapter = providers.resolve('social', id);
        const values = providers.fields(adapter, { ...fixture.values });
        const port = socialSuite.open(providers, adapter, values, fixture);
        expect(await socialSuite.operations[operation]!(port, input)).toEqual(result);
      });
    const bySdk = (network: string, fixture: SocialFixture, act: string, answers: readonly Exchange[]) =>
      recorder.record([...answers, ...caseOf(fixture, act).exchanges], async () => {
        const { account, tokens, app, values } = fixture;
        const body = JSON.stringify({
          recorder: recorder.address,
          of: network,
          act,
          login: { account, app, values, token: tokens?.accessToken },
          input: await withBytes(caseOf(fixture, act).input),
        });
        expect([act, await (await fetch(sdks.url, { method: 'POST', body })).json()]).toEqual([act, {}]);
      });

    test.each(ORACLES)(
      '$id is asked as $sdk asks it',
      async ({ id, acts, answers = {}, everywhere = {}, beyond: there }) => {
        const { default: fixture } = (await import(`../../../fixtures/providers/social/${id}.ts`)) as {
          default: SocialFixture;
        };
        const beyond = { ...everywhere, ...there };
        const deviations = new Set<string>();
        for (const act of acts) {
          const ours = await byAdapter(id, fixture, act);
          expect(ours.length).toBeGreaterThan(0);
          const theirs = await bySdk(id, fixture, act, answers[act] ?? []);
          for (const one of await deviationsOf(ours, theirs, Object.keys(everywhere))) deviations.add(one);
        }
        const unnamed = [...deviations].filter((one) => !(one in beyond));
        const stale = Object.keys(beyond).filter((one) => !deviations.has(one));
        expect({ unnamed, stale }).toEqual({ unnamed: [], stale: [] });
      },
    );
  },
);

type Sendable = Pick<Media, 'size' | 'read'> & Partial<Pick<Media, 'thumbnail'>>;
/** Input of a case as text, with the bytes of its media. */
async function withBytes(input: unknown): Promise<unknown> {
  const { text, media } = (input ?? {}) as PostInput;
  if (text === undefined) return input;
  return { id: POST_ID, ...(input as PostInput), ...(media && { media: await Promise.all(media.map(bytesOf)) }) };
}
async function bytesOf({ size, read, ...file }: Sendable): Promise<object> {
  const parts: Uint8Array[] = [];
  for await (const part of read(0, size)) parts.push(part);
  const thumbnail = file.thumbnail && (await bytesOf(file.thumbnail));
  return { ...file, size, bytes: Buffer.concat(parts).toString(), ...(thumbnail && { thumbnail }) };
}
