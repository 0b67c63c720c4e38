import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { adapters } from '../../../src/providers/registry/registry.gen.ts';
import { openCallCounts } from '../../../src/providers/catalog/index.ts';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import type { Outcome } from '../../../src/providers/registry/index.ts';
import { emptyAuditLog } from '../../support/worlds/audit.ts';
import type { Client, SignedUp } from '../../support/worlds/app.ts';
import { failureOf } from '../../support/peers/fake-network.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';

interface Entry {
  domain: string;
  providerId: string;
  version: string;
  displayName: string;
  featured: boolean;
  featuredSortOrder: number | null;
}
interface Featured {
  domain: string;
  providerId: string;
  featuredSortOrder: number;
  displayName: string;
  seeded: boolean;
}

let product: Product;
let admin: Client;
let ann: SignedUp;
beforeAll(async () => {
  product = await wholeProduct({ sandbox: true, env: { SANDBOX_ENABLED: 'true' } });
  admin = (await product.signUp()).client;
  ann = await product.signUp();
}, 60_000);
afterAll(() => product[Symbol.asyncDispose]());

const SEEDED = [
  ['ai', 'openai', 1],
  ['ai', 'openrouter', 2],
  ['ai', 'gateway', 3],
  ['contentpack', 'magnific', 1],
  ['media', 'replicate', 1],
  ['media', 'heygen', 2],
  ['media', 'fal', 3],
  ['shortlink', 'lnkify', 1],
  ['storage', 'medialocker', 1],
  ['vpn', 'hideme', 1],
  ['vpn', 'custom', 2],
  ['vpn', 'nordvpn', 3],
];
const FEATURED = '/admin/providers/featured';
const rows = async (domain = ''): Promise<Featured[]> =>
  (await admin.get(`${FEATURED}${domain && `?domain=${domain}`}`)).body;
const placed = (list: readonly Featured[]) =>
  list.map(({ domain, providerId, featuredSortOrder }) => [domain, providerId, featuredSortOrder]);
const catalog = async (domain = ''): Promise<Entry[]> =>
  (await ann.client.get(`/providers/catalog${domain && `?domain=${domain}`}`)).body;

/** As after a start: the seeded rows alone. */
beforeEach(async () => {
  await product.db.sql`delete from featured_providers`;
  await product.context.providerCatalog.featured.seed();
});

describe('the catalog', () => {
  test('holds every registered provider with every key, dates null and no secret [PV6, PV12, S155, VE20]', async () => {
    const entries = await catalog();
    const registered = adapters.filter(({ optional }) => optional !== 'sso');
    expect(entries.map(({ domain, providerId, version }) => `${domain}/${providerId}@${version}`).toSorted()).toEqual(
      registered.map(({ domain, id, version }) => `${domain}/${id}@${version}`).toSorted(),
    );
    for (const entry of entries) {
      expect(Object.keys(entry).toSorted()).toEqual(
        [
          'authType',
          'capabilities',
          'credentialFields',
          'defaultDomain',
          'deprecatedAt',
          'description',
          'displayName',
          'domain',
          'featured',
          'featuredSortOrder',
          'mediaCategories',
          'providerId',
          'setupNotes',
          'status',
          'sunsetAt',
          'verified',
          'version',
          'website',
        ].toSorted(),
      );
      expect(entry).toMatchObject({ verified: false, deprecatedAt: null, sunsetAt: null });
    }
    expect(entries.find(({ providerId }) => providerId === 'smtp')).toMatchObject({
      displayName: 'SMTP server',
      authType: 'basic',
      credentialFields: expect.arrayContaining([
        { name: 'host', label: 'Host', secret: false, required: true, help: 'Name or address of the server' },
        { name: 'password', label: 'Password', secret: true, required: false, help: null, default: '' },
      ]),
      capabilities: { kind: null, operations: expect.arrayContaining(['send']) },
    });
  });

  test('is asked by domain; one that there is not is 400, and nobody unknown is answered [PV12, PV19]', async () => {
    const social = await catalog('social');
    expect(new Set(social.map(({ domain }) => domain))).toEqual(new Set(['social']));
    expect(social.length).toBe(adapters.filter(({ domain }) => domain === 'social').length);
    for (const domain of ['nonsense', 'SOCIAL', 'social%20', '__proto__'])
      expect((await ann.client.get(`/providers/catalog?domain=${domain}`)).body).toMatchObject({
        statusCode: 400,
        code: 'unknown_domain',
      });
    expect((await product.client().get('/providers/catalog')).status).toBe(401);
  });

  test('shows featured providers first in their order, then the others by name [S155, PV9]', async () => {
    await admin.post(FEATURED, { domain: 'social', providerId: 'pixelfed', featuredSortOrder: 5 });
    await admin.post(FEATURED, { domain: 'social', providerId: 'nostr', featuredSortOrder: 2 });
    const social = await catalog('social');
    expect(
      social
        .slice(0, 2)
        .map(({ providerId, featured, featuredSortOrder }) => [providerId, featured, featuredSortOrder]),
    ).toEqual([
      ['nostr', true, 2],
      ['pixelfed', true, 5],
    ]);
    const others = social.slice(2);
    expect(others.every(({ featured, featuredSortOrder }) => !featured && featuredSortOrder === null)).toBe(true);
    expect(others.map(({ displayName }) => displayName)).toEqual(
      others.map(({ displayName }) => displayName).toSorted((a, b) => a.localeCompare(b, 'en')),
    );
  });
});

describe('featured providers', () => {
  test('twelve are there from the start, marked, also by domain [PV10, PV14, S162, S224]', async () => {
    const list = await rows();
    expect(placed(list)).toEqual(SEEDED);
    expect(list.every(({ seeded }) => seeded)).toBe(true);
    expect(placed(await rows('vpn'))).toEqual(SEEDED.filter(([domain]) => domain === 'vpn'));
    expect((await admin.get(`${FEATURED}?domain=nonsense`)).body).toMatchObject({
      statusCode: 400,
      code: 'unknown_domain',
    });
  });

  test('a start brings the seeded rows back to their order and leaves those of an operator alone [PV11, S162, S224]', async () => {
    await using db = await testDatabase();
    const start = () => wholeProduct({ env: { DATABASE_URL: db.url } });
    const stored = () =>
      db.sql`
        select domain, provider_id, sort_order, seeded
        from featured_providers
        order by domain, sort_order, provider_id`.then((all) =>
        all.map((row) => [row['domain'], row['provider_id'], row['sort_order'], row['seeded']]),
      );
    {
      await using first = await start();
      const { client } = await first.signUp();
      await client.delete(FEATURED, { domain: 'ai', providerId: 'openai' });
      await client.delete(FEATURED, { domain: 'vpn', providerId: 'custom' });
      await client.post(FEATURED, { domain: 'social', providerId: 'mastodon', featuredSortOrder: 7 });
      await client.put(`${FEATURED}/reorder`, {
        domain: 'vpn',
        items: [{ providerId: 'hideme', featuredSortOrder: 9 }],
      });
      expect((await stored()).length).toBe(11);
      expect(await stored()).toContainEqual(['vpn', 'hideme', 9, true]);
    }
    await using _second = await start();
    const seeded = SEEDED.map((row) => [...row, true]);
    expect(await stored()).toEqual([...seeded.slice(0, 8), ['social', 'mastodon', 7, false], ...seeded.slice(8)]);
  });

  test('one is added last, or where it is put, once whatever its version [PV9, PV15, S162]', async () => {
    const add = (body: object) => admin.post(FEATURED, body);
    const made = await add({ domain: 'social', providerId: 'mastodon' });
    expect([made.status, made.body]).toEqual([
      201,
      { domain: 'social', providerId: 'mastodon', featuredSortOrder: 1, displayName: 'Mastodon', seeded: false },
    ]);
    expect((await add({ domain: 'social', providerId: 'nostr' })).body.featuredSortOrder).toBe(2);
    expect((await add({ domain: 'social', providerId: 'mastodon', sortOrder: 8 })).body.featuredSortOrder).toBe(8);
    expect((await add({ domain: 'social', providerId: 'mastodon' })).body.featuredSortOrder).toBe(8);
    expect(
      (await add({ domain: 'social', providerId: 'mastodon', featuredSortOrder: 0, sortOrder: 4 })).body
        .featuredSortOrder,
    ).toBe(0);
    expect(placed(await rows('social'))).toEqual([
      ['social', 'mastodon', 0],
      ['social', 'nostr', 2],
    ]);
  });

  test('a hundred that add providers at once leave each in one row, and no two last [PV9]', async () => {
    const ids = ['mastodon', 'nostr', 'pixelfed', 'bluesky'];
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) => admin.post(FEATURED, { domain: 'social', providerId: ids[n % 4] })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    const list = await rows('social');
    expect(list.map(({ providerId }) => providerId).toSorted()).toEqual(ids.toSorted());
    expect(list.map(({ featuredSortOrder }) => featuredSortOrder)).toEqual([1, 2, 3, 4]);
  });

  test.each([
    [{ domain: 'nonsense', providerId: 'mastodon' }, 'unknown_domain'],
    [{ domain: 'email', providerId: 'mastodon' }, 'unknown_version'],
    [{ domain: 'social', providerId: 'nobody' }, 'unknown_version'],
    [{ domain: 'social', providerId: 'mastodon', featuredSortOrder: -1 }, 'validation_failed'],
    [{ domain: 'social', providerId: 'mastodon', featuredSortOrder: 1.5 }, 'validation_failed'],
    [{ domain: 'social', providerId: 'mastodon', featuredSortOrder: 2 ** 40 }, 'validation_failed'],
    [{ domain: 'social' }, 'validation_failed'],
  ])('%j is refused', async (body, code) => {
    expect((await admin.post(FEATURED, body)).body).toMatchObject({ statusCode: 400, code });
    expect(await rows('social')).toEqual([]);
  });

  test('one is removed by a JSON body; one that is not there is 404 [PV16, S162]', async () => {
    await admin.post(FEATURED, { domain: 'social', providerId: 'mastodon' });
    expect((await admin.delete(`${FEATURED}?domain=social&providerId=mastodon`)).status).toBe(400);
    expect((await admin.delete(FEATURED, { domain: 'social', providerId: 'mastodon' })).body).toEqual({
      success: true,
    });
    expect((await admin.delete(FEATURED, { domain: 'social', providerId: 'mastodon' })).status).toBe(404);
    expect(await rows('social')).toEqual([]);
  });

  test('the order of a domain is set whole or not at all, and of no other domain [PV17, S162]', async () => {
    const reorder = (items: object[], domain = 'vpn') => admin.put(`${FEATURED}/reorder`, { domain, items });
    const at = (providerId: string, featuredSortOrder: number) => ({ providerId, featuredSortOrder });
    const done = await reorder([at('nordvpn', 1), at('custom', 2), at('hideme', 3)]);
    // prettier-ignore
    expect([done.status, placed(done.body)]).toEqual([200, [['vpn', 'nordvpn', 1], ['vpn', 'custom', 2], ['vpn', 'hideme', 3]]]);
    const before = await rows();
    for (const [items, field] of [
      [[at('hideme', 1), at('openai', 2)], 'items.1.providerId'],
      [[at('hideme', 1), at('hideme', 2)], 'items.1.providerId'],
      [[at('hideme', -1)], 'items.0.featuredSortOrder'],
    ] as const) {
      const { status, body } = await reorder([...items]);
      expect([status, body.code, body.errors[0].field]).toEqual([400, 'validation_failed', field]);
    }
    expect((await reorder([], 'nonsense')).body.code).toBe('unknown_domain');
    expect(await rows()).toEqual(before);
  });

  test('each change is in the audit log of the instance', async () => {
    await emptyAuditLog(product.db.sql);
    await admin.post(FEATURED, { domain: 'social', providerId: 'mastodon' });
    await admin.put(`${FEATURED}/reorder`, {
      domain: 'social',
      items: [{ providerId: 'mastodon', featuredSortOrder: 3 }],
    });
    await admin.delete(FEATURED, { domain: 'social', providerId: 'mastodon' });
    const noted = await product.db.sql`select org_id, action, resource, detail from audit_log order by id`;
    expect(noted.map(({ action, resource }) => [action, resource])).toEqual([
      ['featured_provider.set', 'providers'],
      ['featured_provider.reordered', 'providers'],
      ['featured_provider.removed', 'providers'],
    ]);
    expect(noted.every((row) => row['org_id'] === null && row['detail'].domain === 'social')).toBe(true);
  });
});

describe('health', () => {
  const health = async (providerId: string, domain = '') => {
    const { body } = await admin.get(`/admin/providers/health${domain && `?domain=${domain}`}`);
    return body.find((one: { providerId: string }) => one.providerId === providerId);
  };

  test('every registered version has its counters, zeros where it was never called [PV8, PV13, S155, S164]', async () => {
    const { body } = await admin.get('/admin/providers/health');
    const keyOf = ({ domain, providerId, version }: Pick<Entry, 'domain' | 'providerId' | 'version'>) =>
      `${domain}/${providerId}@${version}`;
    expect(body.map(keyOf)).toEqual((await catalog()).map(keyOf));
    const { body: social } = await admin.get('/admin/providers/health?domain=social');
    expect(social.map(keyOf)).toEqual((await catalog('social')).map(keyOf));
    expect(await health('nostr')).toEqual({
      domain: 'social',
      providerId: 'nostr',
      version: 'v1',
      status: expect.any(String),
      health: { successCount: 0, errorCount: 0, consecutiveErrors: 0, lastSuccessAt: null, lastErrorAt: null },
    });
  });

  test('a domain that there is not is 400; the health of the service knows none [PV20, S225]', async () => {
    for (const domain of ['nonsense', 'SOCIAL', 'social%20', '__proto__'])
      for (const path of ['/admin/providers/health', '/providers/catalog'])
        expect((await admin.get(`${path}?domain=${domain}`)).body).toMatchObject({
          statusCode: 400,
          code: 'unknown_domain',
        });
    expect((await admin.get('/health?domain=nonsense')).status).toBe(200);
  });

  test('calls of the product count where they end: those that failed, and how many since the last that did not; numbers are integers, instants are null where there was none [PV8, PV13, S164]', async () => {
    const { providers } = product.context;
    const adapter = providers.resolve('social', 'sandbox', { allowPreview: true });
    const tokens = (await providers.signIn(adapter, { name: 'ann' }))!;
    const good = providers.connect(adapter, { values: { name: 'ann' }, account: 'ann', tokens });
    const stranger = providers.connect(adapter, {
      values: { name: 'eve' },
      account: 'eve',
      tokens: { accessToken: 'no-token-at-all' },
    });
    for (let n = 1; n <= 3; n += 1) {
      await failureOf(stranger.profile());
      // each is written before the next
      expect((await health('sandbox')).health).toMatchObject({ successCount: 1, errorCount: n, consecutiveErrors: n });
    }
    await good.profile();
    await failureOf(stranger.profile());
    const { successCount, errorCount, consecutiveErrors, lastSuccessAt, lastErrorAt } = (
      await health('sandbox', 'social')
    ).health;
    expect([successCount, errorCount, consecutiveErrors]).toEqual([2, 4, 1]);
    for (const instant of [lastSuccessAt, lastErrorAt]) expect(new Date(instant).toJSON()).toBe(instant);
    expect(lastErrorAt >= lastSuccessAt).toBe(true);

    await product.db
      .sql`update provider_health set success_count = 2 ^ 40, last_error_at = null where provider_id = 'sandbox'`;
    expect((await health('sandbox')).health).toEqual({
      successCount: 2 ** 40,
      errorCount: 4,
      consecutiveErrors: 1,
      lastSuccessAt,
      lastErrorAt: null,
    });
  });

  test('processes that count at once lose no call [PV8]', async () => {
    const open = () =>
      openCallCounts({
        sql: product.context.sql,
        clock: systemClock,
        failed: (error) => {
          throw error;
        },
      });
    const of = (id: string, ok: boolean): Outcome => ({ domain: 'email', id, version: 'v1', ok });
    const processes = Array.from({ length: 8 }, open);
    for (let round = 0; round < 10; round += 1)
      await Promise.all(
        processes.map((counts, n) => {
          for (const id of n % 2 === 0 ? ['smtp', 'empty'] : ['empty', 'smtp'])
            for (const ok of [true, false]) counts.note(of(id, ok));
          return counts.tallies();
        }),
      );
    for (const counts of processes) await counts[Symbol.asyncDispose]();
    for (const id of ['smtp', 'empty'])
      expect((await health(id)).health).toMatchObject({ successCount: 80, errorCount: 80, consecutiveErrors: 1 });
  });

  test('is for super-admins, as all of /admin/providers [PV18]', async () => {
    for (const path of ['/admin/providers/health', FEATURED])
      expect((await ann.client.get(path)).body).toMatchObject({ statusCode: 403 });
    expect((await ann.client.post(FEATURED, { domain: 'social', providerId: 'mastodon' })).status).toBe(403);
    expect((await ann.client.put(`${FEATURED}/reorder`, { domain: 'vpn', items: [] })).status).toBe(403);
    expect((await ann.client.delete(FEATURED, { domain: 'ai', providerId: 'openai' })).status).toBe(403);
    expect(placed(await rows())).toEqual(SEEDED);
  });
});
