import { describe, expect, test } from '@jest/globals';
import { text } from 'node:stream/consumers';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import type { Store } from '../../../src/providers/registry/index.ts';
import type { Bucket } from '../../../src/providers/kit/protocols/s3.ts';
import { adapters as registered } from '../../../src/providers/registry/registry.gen.ts';
import type { StorageAdapter, StorageLine } from '../../../src/providers/storage/_contract.ts';
import fixture from '../../fixtures/providers/storage/s3_compatible.ts';
import {
  coverageCheck,
  describeProviders,
  manifestChecks,
  type ProviderFixture,
  type Suite,
  wireChecks,
} from '../../support/peers/suites/provider.ts';

type Input = Record<string, never> & {
  do: string;
  key: string;
  id: string;
  number: number;
  seconds: number;
  text: string;
  mime: string;
  bytes: number;
};

const bytesOf = (words: string) => ({
  async *[Symbol.asyncIterator]() {
    yield Buffer.from(words);
  },
});
/** A signed address in parts that can be compared. */
function parts(method: string, address: string) {
  const { origin, pathname, searchParams } = new URL(address);
  return { method, address: origin + pathname, query: Object.fromEntries(searchParams) };
}

const suite: Suite<StorageAdapter, Store> = {
  domain: 'storage',
  options: { clock: { ...systemClock, sleep: async () => {} } },
  open: (providers, adapter, values) => providers.storage(adapter, { orgId: 'o1', values }),
  operations: {
    put: (store, { key, text: words, mime }: Input) =>
      store.put(key, { from: bytesOf(words), bytes: words.length, mime }),
    async open(store, { key, range }: Input & { range?: { start: number; end: number } }) {
      const found = await store.open(key);
      return found && { size: found.size, modified: found.modified, text: await text(found.read(range)) };
    },
    remove: (store, keys: string[]) => store.remove(keys),
    url: async (store, key: string) => store.url(key),
    async multipart({ multipart }, input: Input & { of: number[]; parts: [] }) {
      const upload = { key: input.key, id: input.id };
      if (input.do === 'begin') return multipart!.begin(input.key, { mime: input.mime, bytes: 1 });
      if (input.do === 'put') return multipart!.put(upload, input.number, bytesOf(input.text), input.text.length);
      if (input.do === 'parts') return multipart!.parts(upload);
      if (input.do === 'complete') return multipart!.complete(upload, input.parts);
      if (input.do === 'abort') return multipart!.abort(upload);
      if (input.do === 'uploads') return multipart!.uploads();
      return input.of.map((bytes) => multipart!.partBytes(bytes));
    },
    async direct({ direct, multipart }, input: Input & { saveAs?: string }) {
      if (input.do === 'confirm') return direct!.confirm(input.key);
      if (input.do === 'get')
        return parts(
          'GET',
          (await direct!.get(input.key, input.seconds, input.saveAs === undefined ? {} : { saveAs: input.saveAs }))!,
        );
      const { url, headers } = await (input.do === 'part'
        ? multipart!.sign!({ key: input.key, id: input.id }, input.number, input.seconds, input.bytes)
        : direct!.put(input.key, { mime: input.mime, bytes: input.bytes }, input.seconds));
      return { ...parts('PUT', url), headers };
    },
  },
};

await describeProviders(suite, { without: ['local'] });

describe('the suite detects an adapter that', () => {
  /** The part of the fixture that concerns objects. */
  const facts: ProviderFixture = {
    ...fixture,
    cases: fixture.cases.filter(({ operation }) => ['put', 'open', 'remove'].includes(operation)),
  };
  const honest = registered.find(
    (adapter): adapter is StorageAdapter => adapter.domain === 'storage' && adapter.id === 's3_compatible',
  )!;
  const demo = (change: (store: Store, line: StorageLine) => Partial<Store> = () => ({})): StorageAdapter => ({
    ...honest,
    connect: (line) => {
      const store = honest.connect(line);
      return { ...store, ...change(store, line) };
    },
  });
  const wrongIn = async (adapter: StorageAdapter) => {
    const wrong: string[] = [];
    for (const { name, run } of [
      ...manifestChecks(adapter),
      coverageCheck(adapter, facts, ['multipart', 'direct', 'url', 'check']),
      ...wireChecks(suite, adapter, facts),
    ])
      await run().catch(() => void wrong.push(name));
    return wrong;
  };

  test('is correct (no fault found)', async () => expect(await wrongIn(demo())).toEqual([]));
  test('puts an object outside its folder', async () => {
    const wrong = await wrongIn(
      demo((_, { s3, base }) => ({
        put: (key) => s3(bucketOf(base)).put(key, Buffer.from('hello storage'), { mime: 'text/plain' }),
      })),
    );
    expect(wrong).toContainEqual(expect.stringMatching(/^put: sends exactly/));
  });
  test('accepts a refusal', async () => {
    const wrong = await wrongIn(
      demo(({ put }) => ({ put: (key, content) => put(key, content).catch(() => undefined) })),
    );
    expect(wrong).toContainEqual(expect.stringMatching(/^put, exchange 1: a broken connection/));
    expect(wrong).toContain('put: 403 InvalidAccessKeyId is reauthorize');
  });
  test('answers that an object is missing after a network error', async () => {
    const wrong = await wrongIn(demo(({ open }) => ({ open: (key) => open(key).catch(() => undefined) })));
    expect(wrong).toContainEqual(expect.stringMatching(/^open, exchange 1: a broken connection/));
  });
  test('shows its secret in a failure', async () => {
    const loud = (_: Store, { values }: StorageLine): Partial<Store> => ({
      remove: () => Promise.reject(new Error(`The key ${values['secretAccessKey']} was refused`)),
    });
    expect(await wrongIn(demo(loud))).toContainEqual(expect.stringMatching(/^remove, exchange 1: shows no secret/));
  });
});

const bucketOf = (endpoint: string): Bucket => ({
  endpoint,
  region: 'us-east-1',
  name: 'media',
  accessKeyId: 'AKIDEXAMPLE7',
  secretAccessKey: 'x',
  pathStyle: true,
});
