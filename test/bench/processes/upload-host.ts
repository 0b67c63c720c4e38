// A process of the product for the benchmark `upload`: a bucket as an organization has set it, opened by its adapter.
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { openOutbound } from '../../../src/platform/outbound/index.ts';
import { openProviders } from '../../../src/providers/registry/index.ts';
import { answering } from '../kit/answering.ts';
import { measured } from '../kit/memory.ts';

const { values } = JSON.parse(process.argv[2]!) as { values: Record<string, string> };
const outbound = openOutbound({ timeoutMs: 60_000, allowedPrivateCidrs: ['127.0.0.1/32'] });
const providers = openProviders({ outbound, clock: systemClock, sandboxEnabled: false });
const adapter = providers.resolve('storage', 's3_compatible');
const store = providers.storage(adapter, { orgId: 'bench', values: providers.fields(adapter, values) });

answering({
  async upload({ key, path, bytes }: { key: string; path: string; bytes: number }) {
    const figures = await measured(() => store.put(key, { from: { path }, bytes, mime: 'video/mp4' }));
    const size = (await store.open(key))?.size;
    await store.remove([key]);
    return { ...figures, size };
  },
});
