import { describe, expect, test } from '@jest/globals';
import { failureOf } from '../../support/peers/fake-network.ts';
import type { Shortener, ShortlinkAdapter } from '../../../src/providers/registry/index.ts';
import { shortlink, ShortUrl } from '../../../src/providers/shortlink/_contract.ts';
import { openOutbound } from '../../../src/platform/outbound/index.ts';
import { secret } from '../../../src/providers/kit/declare/fields.ts';
import { z } from 'zod';
import { localProviders } from '../../support/worlds/providers.ts';
import {
  coverageCheck,
  describeProviders,
  manifestChecks,
  type ProviderFixture,
  type Says,
  type Suite,
  wireChecks,
} from '../../support/peers/suites/provider.ts';
import { startWire } from '../../support/wire/wire.ts';

const suite: Suite<ShortlinkAdapter, Shortener> = {
  domain: 'shortlink',
  open: (providers, adapter, values) => providers.shortener(adapter, { orgId: null, values }),
  declared: ({ authType, repeatable, facts }) => ({ authType, repeatable, defaultDomain: facts.defaultDomain }),
  operations: { shorten: (port, url) => port.shorten(url), clicks: (port, link) => port.clicks!(link) },
};
await describeProviders(suite);

test('the twenty of the specification are registered as v1', () => {
  const ids = localProviders().list('shortlink');
  const wanted =
    'bitly blink cleanuri cuttly dub isgd linkly lnkify owly pixelme rebrandly replug shortio sniply switchy t2m tinycc tinyurl tly vgd'.split(
      ' ',
    );
  expect(ids.map(({ id, version }) => `${id}@${version}`).toSorted()).toEqual(wanted.map((id) => `${id}@v1`));
});

test('a provider without a public API has no settings, says why, and fails with unsupported [PV7]', async () => {
  const providers = localProviders();
  const without = providers.list('shortlink').filter(({ setup }) => setup === undefined);
  expect(without.map(({ id }) => id)).toEqual(['lnkify', 'owly', 'replug']);
  for (const adapter of without) {
    expect(adapter).toMatchObject({
      status: 'preview',
      capabilities: [],
      setupNotes: expect.stringContaining('cannot be made from here'),
    });
    const error = await failureOf(
      providers.shortener(adapter, { orgId: null, values: {} }).shorten('https://shop.example/'),
    );
    expect(error).toMatchObject({ failure: 'unsupported', message: adapter.setupNotes });
  }
});

/** An exchange with an adapter opened with other values than those of its fixture. */
async function asked(
  id: string,
  values: Record<string, string>,
  exchanges: ProviderFixture['cases'][number]['exchanges'],
  work: (port: Shortener) => Promise<unknown>,
) {
  await using real = openOutbound({ timeoutMs: 20_000, allowedPrivateCidrs: ['127.0.0.1/32'] });
  await using wire = await startWire(real);
  await using providers = localProviders({ outbound: wire.outbound });
  wire.plays(exchanges);
  const adapter = providers.list('shortlink').find((one) => one.id === id)!;
  const result = await work(
    providers.shortener(adapter, {
      orgId: null,
      values: providers.fields({ credentials: adapter.setup!.fields }, values),
    }),
  );
  expect([wire.faults, wire.left]).toEqual([[], 0]);
  return result;
}
const LONG = 'https://shop.example/a?b=1';

test('an empty field is not sent', async () => {
  const headers = { authorization: 'Bearer t' };
  const [url, made] = ['https://api-ssl.bitly.com/v4/shorten', { id: 'bit.ly/1', link: 'https://bit.ly/1' }];
  await asked(
    'bitly',
    { accessToken: 't' },
    [{ asks: { method: 'POST', url, headers, json: { long_url: LONG } }, says: { json: made } }],
    (port) => port.shorten(LONG),
  );
  const link = { id: 'l1', shortUrl: 'rebrand.ly/a1' };
  const asks = {
    method: 'POST',
    url: 'https://api.rebrandly.com/v1/links',
    headers: { apikey: 'k' },
    json: { destination: LONG },
  };
  await asked('rebrandly', { apiKey: 'k' }, [{ asks, says: { json: link } }], (port) => port.shorten(LONG));
});

test('TinyURL makes links without a token, and refuses an answer that is no link', async () => {
  const asks = { method: 'GET', url: `https://tinyurl.com/api-create.php?${new URLSearchParams({ url: LONG })}` };
  const made = await asked('tinyurl', {}, [{ asks, says: { text: 'https://tinyurl.com/a1b2' } }], (port) =>
    port.shorten(LONG),
  );
  expect(made).toEqual({ id: 'https://tinyurl.com/a1b2', shortUrl: 'https://tinyurl.com/a1b2' });
  await asked('tinyurl', {}, [{ asks, says: { text: 'Error' } }], async (port) =>
    expect((await failureOf(port.shorten(LONG))).failure).toBe('lost'),
  );
  await asked('tinyurl', {}, [{ asks, says: { status: 400, text: 'Error' } }], async (port) =>
    expect((await failureOf(port.shorten(LONG))).failure).toBe('rejected'),
  );
});

describe('BL.INK', () => {
  const api = 'https://app.bl.ink/api/v4';
  const values = { email: 'a@b.example', password: 'pw-of-ann', domainId: '9' };
  const login = (token: string) => ({
    asks: { method: 'POST', url: `${api}/access_token`, json: { email: 'a@b.example', password: 'pw-of-ann' } },
    says: { json: { access_token: token } },
  });
  const make = (token: string, says: Says) => ({
    asks: {
      method: 'POST',
      url: `${api}/9/links`,
      headers: { authorization: `Bearer ${token}` },
      json: { url: LONG },
    },
    says,
  });
  const made = (id: number): Says => ({ json: { objects: [{ id, short_link: `https://go.example/${id}` }] } });

  test('logs in by password without a refresh token, and needs no look-up with a domain id', async () =>
    expect(await asked('blink', values, [login('s'), make('s', made(1))], (port) => port.shorten(LONG))).toEqual({
      id: '1',
      shortUrl: 'https://go.example/1',
    }));

  test('logs in once for many links, also concurrent ones', async () => {
    const links = await asked(
      'blink',
      values,
      [login('s'), make('s', made(1)), make('s', made(2)), make('s', made(3))],
      async (port) => [...(await Promise.all([port.shorten(LONG), port.shorten(LONG)])), await port.shorten(LONG)],
    );
    expect(links).toHaveLength(3);
  });

  test('logs in again when its token has ended, and shows neither token', async () => {
    const error = await asked(
      'blink',
      values,
      [
        login('token-of-monday'),
        make('token-of-monday', made(1)),
        make('token-of-monday', { status: 401 }),
        login('token-of-tuesday'),
        make('token-of-tuesday', { status: 400, json: { message: 'token-of-monday token-of-tuesday' } }),
      ],
      async (port) => {
        await port.shorten(LONG);
        return failureOf(port.shorten(LONG));
      },
    );
    expect(error).toMatchObject({ failure: 'rejected', message: 'BL.INK answered 400: *** ***' });
  });
});

test.each([
  'ftp://a.example/b',
  'https://a.example',
  'https://a.example/b c',
  'javascript:alert(1)',
  'https://a.example/<b>',
  'https://a.example/\u00fc',
  'https://user@a.example/b',
  '//a.example/b',
])('what is no plain link is not taken for one: %s', (url) => expect(ShortUrl.safeParse(url).success).toBe(false));

describe('the suite detects an adapter that', () => {
  const Made = z.object({ id: z.string(), url: ShortUrl }).transform(({ id, url }) => ({ id, shortUrl: url }));
  type Spec = Parameters<typeof shortlink<{ key: ReturnType<typeof secret> }>>[0];
  const demo = (more: Partial<Spec> = {}): ShortlinkAdapter =>
    shortlink({
      id: 'demo',
      version: 'v1',
      title: 'Demo',
      description: 'A provider of this test.',
      authType: 'api_key',
      credentials: { key: secret('Key') },
      api: 'https://api.demo.example',
      auth: { in: 'header', name: 'x-key', prefix: '', field: 'key' },
      shorten: ({ http }, url) => http.get('/make', Made, { query: { url }, creates: true }),
      check: async () => 'Not asked',
      ...more,
    } as Spec);
  const facts: ProviderFixture = {
    values: { key: 'the-key-of-demo' },
    secret: ['key'],
    declares: { authType: 'api_key', repeatable: false },
    cases: [
      {
        operation: 'shorten',
        input: 'https://shop.example/a',
        exchanges: [
          {
            asks: {
              method: 'GET',
              url: 'https://api.demo.example/make?url=https%3A%2F%2Fshop.example%2Fa',
              headers: { 'x-key': 'the-key-of-demo' },
            },
            says: { json: { id: '1', url: 'https://d.example/1' } },
            creates: true,
          },
        ],
        result: { id: '1', shortUrl: 'https://d.example/1' },
      },
    ],
    refusals: [],
  };
  const wrongIn = async (adapter: ShortlinkAdapter) => {
    const wrong: string[] = [];
    for (const { name, run } of [
      ...manifestChecks(adapter),
      coverageCheck(adapter, facts, ['check']),
      ...wireChecks(suite, adapter, facts),
    ])
      await run().catch(() => void wrong.push(name));
    return wrong;
  };

  test('is correct (no fault found)', async () => expect(await wrongIn(demo())).toEqual([]));
  test('leaves out `creates` on a GET that makes a link', async () => {
    const wrong = await wrongIn(demo({ shorten: ({ http }, url) => http.get('/make', Made, { query: { url } }) }));
    expect(wrong).toContainEqual(expect.stringContaining('a broken connection'));
  });
  test('declares repeatable without the facts', async () =>
    expect(await wrongIn(demo({ repeatable: true }))).toEqual(['declares the facts that no call shows']));
  test('accepts any text as a link', async () => {
    const shorten: Spec['shorten'] = async ({ http }, url) => ({
      id: '1',
      shortUrl: String(await http.get('/make', z.any(), { query: { url }, creates: true })),
    });
    expect(await wrongIn(demo({ shorten }))).toContainEqual(expect.stringContaining('half an answer and a page'));
  });
});
