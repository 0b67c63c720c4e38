import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../../src/platform/kernel/index.ts';
import { openOutbound, type Outbound } from '../../../../src/platform/outbound/index.ts';
import type { Media, Published, SocialAdapter } from '../../../../src/providers/registry/index.ts';
import { type PostInput, type SocialFixture, socialSuite, video } from '../../../support/peers/suites/social.ts';
import {
  bytesOf,
  startUploadNetwork,
  UPLOAD_NETWORKS,
  type UploadNetwork,
} from '../../../support/peers/upload-networks.ts';
import { localProviders } from '../../../support/worlds/providers.ts';
import { handleOf } from '../../../support/worlds/providers.ts';

// Large files to networks with sessions and parts, whose line is cut: another process goes on where the server is.

const MOST = Math.max(...UPLOAD_NETWORKS.map(({ size }) => size));
const BYTES = Buffer.from(
  Uint32Array.from({ length: Math.ceil(MOST / 4) }, (_, n) => Math.imul(n, 2_654_435_761)).buffer,
);
const PIECE = 256 * 1024;
/** A video of so many bytes. */
const videoOf = (size: number): Media => ({
  ...video,
  size,
  async *open() {
    yield* this.read(0, size);
  },
  async *read(from: number, to: number) {
    for (let at = from; at < to; at += PIECE) yield BYTES.subarray(at, Math.min(at + PIECE, to));
  },
});

let real: Outbound;
let internet: Awaited<ReturnType<typeof startUploadNetwork>>;
beforeAll(async () => {
  real = openOutbound({ timeoutMs: 20_000, allowedPrivateCidrs: ['127.0.0.1/32'] });
  internet = await startUploadNetwork(real);
});
afterAll(async () => {
  await internet[Symbol.asyncDispose]();
  await real[Symbol.asyncDispose]();
});

/** Opens the channel as a new process does. */
function newProcess(id: string, fixture: SocialFixture) {
  const clock = { ...systemClock, now: () => fixture.now ?? systemClock.now(), sleep: async () => {} };
  const providers = localProviders({ clock, outbound: internet.outbound });
  const adapter = providers.list('social').find((one: SocialAdapter) => one.id === id)!;
  return socialSuite.open(providers, adapter, fixture.values, fixture);
}

async function cutAndGoOn({ id, of, ...network }: UploadNetwork, cutAt: number) {
  const fixture = ((await import(`../../../fixtures/providers/social/${id}.ts`)) as { default: SocialFixture }).default;
  const { input, exchanges, result } = fixture.cases.find(
    ({ operation, name }) => operation === 'publish' && name === of,
  )!;
  const stored = internet.plays({ id, of, ...network }, exchanges, cutAt);
  const post = { ...(input as PostInput), media: [videoOf(network.size)] };

  const first = newProcess(id, fixture);
  const handle = handleOf();
  const prepared = { id: 'p', plain: post.text, ...post };
  const steps = async () => {
    const attempt = { ...handle, save: async (saved: unknown) => handle.save((attempt.saved = saved)) };
    while ((await first.channel.prepare!(prepared, post.settings ?? {}, attempt)) !== 'ready');
  };
  await expect(steps()).rejects.toMatchObject({ failure: 'unavailable' });
  expect(stored.cutAt).toBeUndefined();

  stored.away = false; // the network is back, and another process goes on
  const saved: unknown = JSON.parse(JSON.stringify(handle.kept.at(-1)));
  const published = await socialSuite.operations['publish']!(newProcess(id, fixture), { ...post, saved });
  return { stored, published: published as Published, wanted: result as Published };
}

describe.each(UPLOAD_NETWORKS)('a $of to $id', (network) => {
  const { size, partBytes } = network;
  const within = Math.min(size, 2 * partBytes);
  test.each([
    ['soon after it began', Math.floor(partBytes / 8)],
    ['in the middle', Math.floor(within / 2)],
    ['near the end of what goes out before its date', within - 1_000],
  ])('goes on in another process when the line is cut %s', async (_, cutAt) => {
    const { stored, published, wanted } = await cutAndGoOn(network, cutAt);
    expect(stored.faults).toEqual([]);
    expect(published).toEqual(wanted);
    expect(bytesOf(stored).equals(BYTES.subarray(0, size))).toBe(true);
    expect(stored.begun).toBe(1);
    expect(stored.came).toBeLessThan(size + partBytes + 10_000); // with what surrounds the parts of forms
  });
});
