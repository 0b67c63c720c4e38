import { describe, expect, test } from '@jest/globals';
import { openOutbound } from '../../../src/platform/outbound/index.ts';
import { type ContentPack, type ContentPackAdapter, stockSources } from '../../../src/providers/registry/index.ts';
import { contentPack, Download, Id, Web, Words } from '../../../src/providers/contentpack/_contract.ts';
import { secret } from '../../../src/providers/kit/declare/fields.ts';
import { failureOf } from '../../support/peers/fake-network.ts';
import { localProviders } from '../../support/worlds/providers.ts';
import {
  coverageCheck,
  describeProviders,
  manifestChecks,
  type ProviderFixture,
  type Suite,
  wireChecks,
} from '../../support/peers/suites/provider.ts';
import { startWire } from '../../support/wire/wire.ts';
import { z } from 'zod';

const suite: Suite<ContentPackAdapter, ContentPack> = {
  domain: 'contentpack',
  open: (providers, adapter, values) => providers.contentPack(adapter, { orgId: null, values }),
  declared: ({ authType, kinds, rates, cacheMs, longestQuery, lastPage }, values) => ({
    authType,
    kinds,
    rates: typeof rates === 'function' ? rates(values) : rates,
    cacheMs,
    longestQuery,
    lastPage,
  }),
  operations: { search: (port, wanted) => port.search(wanted), acquire: (port, id) => port.acquire(id) },
};
await describeProviders(suite);

/** The free sources are no providers of the catalog, and owe the same. */
let cases = 0;
for (const source of stockSources) {
  const { default: fixture } = (await import(`../../fixtures/providers/stock/${source.id}.ts`)) as {
    default: ProviderFixture;
  };
  const checks = [...manifestChecks(source), coverageCheck(source, fixture), ...wireChecks(suite, source, fixture)];
  cases += checks.length;
  describe(`stock/${source.id}`, () => {
    for (const { name, run } of checks) test(name, run);
  });
}
process.stderr.write(`stock: ${stockSources.length} sources, ${cases} cases\n`);

test('the four of the specification are registered as v1, for the instance and organizations', () => {
  const packs = localProviders().list('contentpack');
  expect(packs.map(({ id, version }) => `${id}@${version}`)).toEqual([
    'adobe-stock@v1',
    'envato@v1',
    'magnific@v1',
    'vecteezy@v1',
  ]);
  for (const { setup } of packs) expect(setup?.owners).toEqual(['instance', 'org']);
});

test('the free sources are in no catalog and have no settings: their keys are in the environment [DE43]', () => {
  expect(stockSources.map(({ id }) => id)).toEqual(['unsplash', 'pexels', 'pixabay', 'giphy', 'openverse']);
  const shown = localProviders().catalog('contentpack');
  for (const { id, setup } of stockSources)
    expect([setup, shown.some(({ providerId }) => providerId === id)]).toEqual([undefined, false]);
});

/** An exchange with an adapter opened with other values than those of its fixture. */
async function asked<T>(
  adapter: ContentPackAdapter,
  values: Record<string, string>,
  exchanges: ProviderFixture['cases'][number]['exchanges'],
  work: (port: ContentPack) => Promise<T>,
) {
  await using real = openOutbound({ timeoutMs: 20_000, allowedPrivateCidrs: ['127.0.0.1/32'] });
  await using wire = await startWire(real);
  await using providers = localProviders({ outbound: wire.outbound });
  wire.plays(exchanges);
  const result = await work(providers.contentPack(adapter, { orgId: null, values: providers.fields(adapter, values) }));
  expect([wire.faults, wire.left]).toEqual([[], 0]);
  return result;
}
const packOf = (id: string) =>
  localProviders()
    .list('contentpack')
    .find((one) => one.id === id)!;
const sourceOf = (id: string) => stockSources.find((one) => one.id === id)!;

test('Openverse answers without a login, less often', async () => {
  const { rates } = sourceOf('openverse');
  expect(typeof rates === 'function' && rates({})).toEqual([
    { requests: 20, perMs: 60_000 },
    { requests: 200, perMs: 86_400_000 },
  ]);
  const url = 'https://api.openverse.org/v1/images/?q=lake&page=1&page_size=20';
  const found = await asked(
    sourceOf('openverse'),
    {},
    [{ asks: { method: 'GET', url }, says: { json: { page_count: 1, results: [] } } }],
    (port) => port.search({ q: 'lake', kind: 'image', page: 1 }),
  );
  expect(found).toEqual({ items: [], more: false });
});

test('one token serves many calls, also concurrent ones', async () => {
  const token = {
    asks: {
      method: 'POST',
      url: 'https://api.openverse.org/v1/auth_tokens/token/',
      form: { grant_type: 'client_credentials', client_id: 'c', client_secret: 'secret-of-c' },
    },
    says: { json: { access_token: 'token-of-c', expires_in: 3600 } },
  };
  const page = {
    asks: {
      method: 'GET',
      url: 'https://api.openverse.org/v1/images/?q=lake&page=1&page_size=24',
      headers: { authorization: 'Bearer token-of-c' },
    },
    says: { json: { page_count: 1, results: [] } },
  };
  await asked(
    sourceOf('openverse'),
    { clientId: 'c', clientSecret: 'secret-of-c' },
    [token, page, page, page],
    async (port) => {
      const search = () => port.search({ q: 'lake', kind: 'image', page: 1 });
      await Promise.all([search(), search()]);
      await search();
    },
  );
});

test('a token that was learned during a call is redacted from a refusal', async () => {
  const token = {
    asks: {
      method: 'POST',
      url: 'https://api.openverse.org/v1/auth_tokens/token/',
      form: { grant_type: 'client_credentials', client_id: 'c', client_secret: 'secret-of-c' },
    },
    says: { json: { access_token: 'token-of-c', expires_in: 3600 } },
  };
  const page = {
    asks: {
      method: 'GET',
      url: 'https://api.openverse.org/v1/images/x/',
      headers: { authorization: 'Bearer token-of-c' },
    },
    says: { status: 400, json: { detail: 'Bearer token-of-c is odd' } },
  };
  const error = await asked(
    sourceOf('openverse'),
    { clientId: 'c', clientSecret: 'secret-of-c' },
    [token, page],
    (port) => failureOf(port.acquire('x')),
  );
  expect(error.message).toContain('Bearer *** is odd');
});

test("Magnific at its older host gets that host's header", async () => {
  const asks = { method: 'GET', url: 'https://api.freepik.com/v1/resources/1', headers: { 'x-freepik-api-key': 'k' } };
  expect(
    await asked(
      packOf('magnific'),
      { apiKey: 'k', host: 'api.freepik.com' },
      [{ asks, says: { status: 404 } }],
      (port) => port.acquire('1'),
    ),
  ).toBeUndefined();
});

test('Adobe Stock refuses to license without a client secret, and says what is needed', async () => {
  const error = await asked(packOf('adobe-stock'), { clientId: 'c' }, [], (port) => failureOf(port.acquire('1')));
  expect(error).toMatchObject({ failure: 'unsupported', message: expect.stringContaining('client secret') });
});

test.each([
  'http://a.example/b.jpg',
  'javascript:alert(1)',
  'data:image/png;base64,AA',
  '//a.example/b',
  'https://user@a.example/',
  'file:///etc/passwd',
  '',
  null,
  undefined,
])('an address that is not https is not handed to a browser: %s [S154]', (url) => expect(Web.parse(url)).toBeNull());

describe('the suite detects an adapter that', () => {
  const Entry = z.object({ id: Id, title: Words, preview: Web, file: Download });
  const demo = (
    acquire: (
      line: { http: Parameters<Parameters<typeof contentPack>[0]['connect']>[0]['http'] },
      id: string,
    ) => ReturnType<ContentPack['acquire']>,
  ) =>
    contentPack({
      id: 'demo',
      version: 'v1',
      title: 'Demo',
      description: 'A source of this test.',
      authType: 'api_key',
      credentials: { key: secret('Key') },
      api: 'https://api.demo.example',
      auth: { in: 'header', name: 'x-key', prefix: '', field: 'key' },
      kinds: ['image'],
      connect: (line) => ({ search: async () => ({ items: [], more: false }), acquire: (id) => acquire(line, id) }),
    });
  const itemOf = ({ id, title, preview }: z.output<typeof Entry>) => ({
    id,
    title: title ?? '',
    preview,
    url: null,
    author: null,
    authorUrl: null,
    licence: 'Free',
    licenceUrl: null,
    credit: null,
  });
  const headers = { 'x-key': 'the-key-of-demo' };
  const facts: ProviderFixture = {
    values: { key: 'the-key-of-demo' },
    secret: ['key'],
    declares: { authType: 'api_key', kinds: ['image'] },
    cases: [
      {
        operation: 'acquire',
        input: '1',
        exchanges: [
          {
            asks: { method: 'GET', url: 'https://api.demo.example/items/1', headers },
            says: { json: { id: 1, title: 'One', preview: 'https://d.example/1', file: 'https://d.example/f' } },
          },
          {
            asks: { method: 'GET', url: 'https://api.demo.example/items/1/licence', headers },
            says: { json: { granted: true } },
            creates: true,
          },
        ],
        result: {
          item: itemOf({ id: '1', title: 'One', preview: 'https://d.example/1', file: '' }),
          download: 'https://d.example/f',
        },
      },
    ],
    refusals: [],
  };
  const Licence = z.object({ granted: z.literal(true) });
  const wrongIn = async (adapter: ContentPackAdapter) => {
    const wrong: string[] = [];
    for (const { name, run } of [
      ...manifestChecks(adapter),
      coverageCheck(adapter, facts, ['search']),
      ...wireChecks(suite, adapter, facts),
    ])
      await run().catch(() => void wrong.push(name));
    return wrong;
  };

  test('is correct (no fault found)', async () => {
    const honest = demo(async ({ http }, id) => {
      const entry = await http.get(`/items/${id}`, Entry);
      await http.get(`/items/${id}/licence`, Licence, { creates: true });
      return { item: itemOf(entry), download: entry.file };
    });
    expect(await wrongIn(honest)).toEqual([]);
  });
  test('downloads without licensing', async () => {
    const thief = demo(async ({ http }, id) => {
      const entry = await http.get(`/items/${id}`, Entry);
      return { item: itemOf(entry), download: entry.file };
    });
    expect(await wrongIn(thief)).toContainEqual(expect.stringContaining('exactly the documented requests'));
  });
  test('accepts any answer as a licence', async () => {
    const credulous = demo(async ({ http }, id) => {
      const entry = await http.get(`/items/${id}`, Entry);
      await http.get(`/items/${id}/licence`, z.any(), { creates: true });
      return { item: itemOf(entry), download: entry.file };
    });
    expect(await wrongIn(credulous)).toContainEqual(expect.stringContaining('half an answer and a page'));
  });
  test('licenses again after a lost answer', async () => {
    const twice = demo(async ({ http }, id) => {
      const entry = await http.get(`/items/${id}`, Entry);
      await http.get(`/items/${id}/licence`, Licence);
      return { item: itemOf(entry), download: entry.file };
    });
    expect(await wrongIn(twice)).toContainEqual(expect.stringContaining('a broken connection'));
  });
});
