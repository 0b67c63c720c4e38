// oxlint-disable max-lines -- one product and its stock sources serve all cases
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { AuditActor } from '../../../src/platform/audit/index.ts';
import type { Cache } from '../../../src/platform/cache/index.ts';
import { AppError, type Clock, systemClock } from '../../../src/platform/kernel/index.ts';
import type { ProviderSettings } from '../../../src/providers/settings/index.ts';
import type { Answer, SignedUp, TestApp } from '../../support/worlds/app.ts';
import { override, subscribe, WITH_BILLING } from '../../support/worlds/billing.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { eventually, gate } from '../../support/wire/eventually.ts';
import { mediaApp } from '../../support/worlds/media.ts';
import { type StockWorld, startStockWorld } from '../../support/worlds/stock-world.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
let world: StockWorld;
let settings: ProviderSettings;
let folder: string;
let ann: SignedUp;
let ben: SignedUp;
let cache: Cache;
/** Time to live of what was kept, in the order of keeping. */
const kept: [string, number][] = [];
/** Time stands still but where a test lets it pass. */
const start = systemClock.now().getTime();
let aheadMs = 0;
const clock: Clock = {
  ...systemClock,
  now: () => new Date(start + aheadMs),
  monotonic: () => aheadMs,
  in: (ms) => new Date(start + aheadMs + ms),
};

const DOER: AuditActor = { userId: null, impersonatorId: null, ip: null };
const KEYS = { UNSPLASH_ACCESS_KEY: 'u-key', PIXABAY_API_KEY: 'p-key' };

/** One process of the product. */
const openApp = (env = {}) =>
  mediaApp({ sql: db.sql, folder, clock, servers: world.servers, env: { ...KEYS, ...env } });
const imported = (who: SignedUp, source: string, id: string) => who.client.post('/files/stock/import', { source, id });
const search = (who: SignedUp, query: string) => who.client.get(`/files/stock?${query}`);
const faults = ({ status, body }: Answer) => [status, body.errors?.[0]?.field, body.errors?.[0]?.rule];

beforeAll(async () => {
  db = await testDatabase();
  world = await startStockWorld();
  folder = await mkdtemp(join(tmpdir(), 'rookery-stock-'));
  app = await openApp();
  ({ cache, providerSettings: settings } = app.context);
  const { set } = cache; // of this process, so there is no wire on which to listen or to fail
  cache.set = async (key, value, ttlMs) => {
    if (key.startsWith('stock:')) kept.push([key.split(':')[1]!, ttlMs]);
    return set(key, value, ttlMs);
  };
  [ann, ben] = [await app.signUp(), await app.signUp()];
});
afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
  if (folder) await rm(folder, { recursive: true });
});
beforeEach(() => {
  world.forget();
  kept.length = 0;
  aheadMs += 86_400_000; // no window and no kept answer of the test before
});

describe('stock search', () => {
  test('the answer has the results of a source page by page, on both paths; a preview that is not https is left out [S154, S146]', async () => {
    const { status, body } = await search(ann, 'source=unsplash&q=%20Blue%0Alake&page=2');
    const item = {
      url: 'https://unsplash.com/photos/one?utm_source=rookery&utm_medium=referral',
      author: 'Ann',
      licence: 'Unsplash License',
      source: 'unsplash',
    };
    expect([status, body]).toEqual([
      200,
      {
        items: [
          { id: 'one', preview: 'https://images.example/one', ...item },
          {
            id: 'plain',
            preview: null,
            ...item,
            url: 'https://unsplash.com/photos/plain?utm_source=rookery&utm_medium=referral',
          },
        ],
        nextCursor: '3',
      },
    ]);
    expect(world.asked).toEqual(['/unsplash/search/photos?query=Blue+lake&page=2&per_page=24&content_filter=high']);
    expect((await ann.client.get('/media/stock?source=unsplash&q=blue%20lake&page=3')).body.nextCursor).toBeNull();
  });

  test('a search without a source uses the first one that has a key', async () => {
    expect((await search(ann, 'q=tree')).body.items[0].source).toBe('unsplash');
  });

  test('an unknown source, one without a key and other invalid input are refused by field, without a request [S154]', async () => {
    const bad: [string, string, string][] = [
      ['source=tenor&q=a', 'source', 'invalid_value'],
      ['source=contentpack%2Funsplash&q=a', 'source', 'invalid_value'],
      ['source=__proto__&q=a', 'source', 'invalid_value'],
      ['source=pexels&q=a', 'source', 'not_configured'],
      ['source=vecteezy&q=a', 'source', 'not_configured'],
      ['source=unsplash&q=a&type=video', 'type', 'unsupported'],
      ['source=unsplash&q=a&type=music', 'type', 'invalid_value'],
      [`source=pixabay&q=${'a'.repeat(101)}`, 'q', 'too_big'],
      ['source=unsplash', 'q', 'required'],
      ['source=unsplash&q=%20%00', 'q', 'too_small'],
      ['source=unsplash&q=a&page=0', 'page', 'too_small'],
    ];
    for (const [query, field, rule] of bad)
      expect([query, ...faults(await search(ann, query))]).toEqual([query, 400, field, rule]);
    expect(world.asked).toEqual([]);
  });

  test('equal searches share one request, and the answer is cached as long as the terms of the source allow', async () => {
    const all = await Promise.all(
      Array.from({ length: 100 }, (_, n) => search(n % 2 ? ann : ben, `source=unsplash&q=${n % 3 ? 'Sea' : 'sea'}`)),
    );
    expect(new Set(all.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(all[0]!.status).toBe(200);
    await search(ann, 'source=pixabay&q=sea');
    await search(ben, 'source=pixabay&q=sea');
    expect(world.asked).toHaveLength(2);
    expect(new Map(kept)).toEqual(
      new Map([
        ['unsplash@v1', 600_000],
        ['pixabay@v1', 86_400_000],
      ]),
    ); // Pixabay wants its answers to be kept for a day
    await search(ann, 'source=unsplash&q=sea&page=2');
    expect(world.asked).toHaveLength(3);
  });

  test('a search is not repeated while its answer is being cached', async () => {
    const whole = { ...cache };
    const { passed, open } = gate();
    let [looked, keeping] = [0, 0];
    Object.assign(cache, {
      get: (key: string) => ((looked += Number(key.includes('unsplash@'))), whole.get(key)),
      set: async (...entry: Parameters<Cache['set']>) => ((keeping += 1), await passed, whole.set(...entry)),
    });
    try {
      const first = search(ann, 'source=unsplash&q=kept');
      await eventually('the answer is being kept', () => keeping === 1);
      const second = search(ben, 'source=unsplash&q=kept');
      await eventually('the second one has found nothing', () => looked === 2);
      open();
      expect([(await first).status, (await second).status, world.asked.length]).toEqual([200, 200, 1]);
    } finally {
      open();
      Object.assign(cache, whole);
    }
  });

  test('a page behind the last one is empty, without a request', async () => {
    expect((await search(ann, 'source=pixabay&q=sea&page=22')).body).toEqual({ items: [], nextCursor: null });
    expect(world.asked).toEqual([]);
    expect((await search(ann, 'source=pixabay&q=sea&page=21')).body.nextCursor).toBeNull();
  });

  test('a search works while the cache is away', async () => {
    const away = () => Promise.reject(new AppError('unavailable', 'away'));
    const whole = { ...cache };
    Object.assign(cache, { get: away, set: away });
    try {
      expect((await search(ann, 'source=unsplash&q=away')).status).toBe(200);
    } finally {
      Object.assign(cache, whole);
    }
  });
});

describe('rate limits of a source', () => {
  test('limits count per key: one organization uses part of the limit of the operator, the others go on', async () => {
    for (let n = 0; n < 25; n++) expect((await search(ann, `source=pixabay&q=word${n}`)).status).toBe(200);
    const refused = await search(ann, 'source=pixabay&q=another');
    expect([refused.status, refused.body.code, refused.headers.has('retry-after')]).toEqual([
      429,
      'rate_limited',
      true,
    ]);
    expect(world.asked).toHaveLength(25);
    expect((await search(ann, 'source=pixabay&q=word3')).status).toBe(200); // which was kept
    expect((await search(ben, 'source=pixabay&q=another')).status).toBe(200);
    expect((await search(ann, 'source=unsplash&q=another')).status).toBe(200);
    aheadMs += 60_000;
    expect((await search(ann, 'source=pixabay&q=another-word')).status).toBe(200);
  });

  test('limits of a minute and of a day count together: what each minute takes may be too much for the day', async () => {
    const ask = (n: number) => search(ann, `source=openverse&q=word${n}`);
    for (let n = 0; n < 50; n++) {
      if (n % 5 === 0) aheadMs += 60_000;
      expect((await ask(n)).status).toBe(200);
    }
    aheadMs += 60_000;
    const refused = await ask(50);
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(80_000);
    expect((await search(ben, 'source=openverse&q=another')).status).toBe(200);
    aheadMs += 86_400_000;
    expect((await ask(50)).status).toBe(200);
  });

  test('a delay that the source names is kept: no request is made before', async () => {
    world.on.set('/unsplash/search', () => ({ status: 429, headers: { 'retry-after': '120' } }));
    const refused = await search(ann, 'source=unsplash&q=a');
    expect([refused.status, refused.headers.get('retry-after'), refused.body.code]).toEqual([
      429,
      '120',
      'rate_limited',
    ]);
    world.on.clear();
    expect((await search(ben, 'source=unsplash&q=b')).status).toBe(429);
    expect((await imported(ben, 'unsplash', 'waiting')).status).toBe(429);
    expect(world.asked).toHaveLength(1);
    aheadMs += 120_000;
    expect((await search(ben, 'source=unsplash&q=b')).status).toBe(200);
  });
});

describe('stock import', () => {
  test('an import makes a file with the attribution, reports the use to the source, and shows the attribution with the file [S154, S146]', async () => {
    const made = await imported(ann, 'unsplash', 'one');
    expect(made.status).toBe(201);
    const attribution = {
      provider: 'contentpack/unsplash',
      version: 'v1',
      itemId: 'one',
      title: 'Lake one',
      author: 'Ann',
      authorUrl: 'https://unsplash.com/@ann?utm_source=rookery&utm_medium=referral',
      url: 'https://unsplash.com/photos/one?utm_source=rookery&utm_medium=referral',
      licence: 'Unsplash License',
      licenceUrl: 'https://unsplash.com/license',
      credit: 'Photo by Ann on Unsplash',
    };
    expect(made.body).toMatchObject({
      name: 'Lake one',
      alt: 'Lake one',
      type: 'image',
      mime: 'image/png',
      width: 64,
      height: 48,
      attribution,
    });
    expect(world.asked).toEqual(['/unsplash/photos/one', '/unsplash/photos/one/download?ixid=1', '/bytes/one']);
    expect(world.keys).toEqual(['Client-ID u-key', 'Client-ID u-key', '']);
    expect((await ann.client.get(`/files/${made.body.id}`)).body).toEqual(made.body);
    expect((await ann.client.get('/media')).body.results[0]).toEqual(made.body);
  });

  test('an import happens once for each organization, however many requests there are [S154]', async () => {
    const all = await Promise.all(Array.from({ length: 100 }, () => imported(ann, 'unsplash', 'many')));
    expect(all.map(({ status }) => status)).toEqual(Array(100).fill(201));
    expect(new Set(all.map(({ body }) => body.id)).size).toBe(1);
    expect((await imported(ann, 'unsplash', 'many')).body.id).toBe(all[0]!.body.id);
    const told = () => world.asked.filter((path) => path.includes('/download')).length;
    expect(told()).toBe(1);
    const bens = await imported(ben, 'unsplash', 'many');
    expect([bens.status, bens.body.id === all[0]!.body.id, told()]).toEqual([201, false, 2]);
    await ann.client.delete(`/files/${all[0]!.body.id}`);
    const again = await imported(ann, 'unsplash', 'many');
    expect([again.status, again.body.id === all[0]!.body.id, told()]).toEqual([201, false, 3]);
  });

  test('one process imports, and another answers that the import is under way', async () => {
    await using second = await openApp();
    const other = second.context.stock;
    let goOn = () => {};
    const held = new Promise<void>((resolve) => (goOn = resolve));
    world.on.set('/unsplash/photos/held', async () => {
      await held;
      return { status: 404, json: {} };
    });
    const first = imported(ann, 'unsplash', 'held');
    await eventually('the source is asked', () => world.asked.length === 1);
    await expect(other.importItem(ann.orgId, ann.userId, { source: 'unsplash', id: 'held' })).rejects.toMatchObject({
      code: 'conflict',
      extra: { retryAfterMs: 5_000 },
    });
    goOn();
    expect(faults(await first)).toEqual([400, 'id', 'unknown_id']);
    world.on.clear();
    const { file } = await other.importItem(ann.orgId, ann.userId, { source: 'unsplash', id: 'held' });
    expect((await imported(ann, 'unsplash', 'held')).body.id).toBe(file.id);
    expect(await db.sql`select * from stock_claims`).toEqual([]);
  });

  test('an import whose process ended can be repeated when its claim expires', async () => {
    const claim = (until: string) =>
      db.sql`
        insert into stock_claims (org_id, provider, item_id, held_until)
        values (${ann.orgId}, 'contentpack/unsplash', 'cut', now() + ${until}::interval)
        on conflict (org_id, provider, item_id) do update set held_until = excluded.held_until`;
    await claim('1 minute');
    expect((await imported(ann, 'unsplash', 'cut')).status).toBe(409);
    await claim('-1 second');
    expect((await imported(ann, 'unsplash', 'cut')).status).toBe(201);
    expect(await db.sql`select * from stock_claims`).toEqual([]);
  });

  test('an unknown item, or an id that leads elsewhere, is refused by its field [S154]', async () => {
    for (const id of ['missing', '../../admin', 'a/b', 'a?b', '%2e%2e', '..', 'ä', 'a b', 'x'.repeat(101)])
      expect([id, ...faults(await imported(ann, 'unsplash', id))]).toEqual([id, 400, 'id', 'unknown_id']);
    expect(world.asked).toEqual(['/unsplash/photos/missing']);
    expect(faults(await imported(ann, 'tenor', 'one'))).toEqual([400, 'source', 'invalid_value']);
    expect(faults(await imported(ann, 'pexels', 'one'))).toEqual([400, 'source', 'not_configured']);
  });

  test('a failed import (no picture, no fetch, forbidden address) keeps nothing and can be repeated', async () => {
    const [{ n }] = (await db.sql`select count(*)::int as n from files`) as unknown as [{ n: number }];
    const page = () => ({ body: '<!doctype html><script>alert(1)</script>' });
    world.on.set('/bytes/bad', page);
    expect((await imported(ann, 'unsplash', 'bad')).status).toBe(415);
    world.on.set('/bytes/bad', () => ({ status: 403 }));
    const gone = await imported(ann, 'unsplash', 'bad');
    expect([gone.status, gone.body.code, gone.body.failure]).toEqual([409, 'conflict', 'rejected']);
    world.on.set('/bytes/bad', () => ({ status: 503 }));
    expect((await imported(ann, 'unsplash', 'bad')).status).toBe(502);
    world.on.set('/unsplash/photos/bad/download', () => ({ json: { url: 'http://169.254.169.254/latest/meta-data' } }));
    const blocked = await imported(ann, 'unsplash', 'bad');
    expect([blocked.status, blocked.body.failure]).toEqual([409, 'rejected']);
    world.on.clear();
    expect(await db.sql`select count(*)::int as n from files`).toEqual([{ n }]);
    expect((await imported(ann, 'unsplash', 'bad')).status).toBe(201);
  });

  test('an organization without room acquires nothing', async () => {
    const eve = await app.signUp();
    await subscribe(db.sql, eve.orgId);
    await override(db.sql, eve.orgId, { storage_gb: 0 });
    await using paid = await openApp(WITH_BILLING);
    await expect(
      paid.context.stock.importItem(eve.orgId, eve.userId, { source: 'unsplash', id: 'full' }),
    ).rejects.toMatchObject({
      code: 'limit_exceeded',
      extra: { limit: 'storage_gb' },
    });
    expect(world.asked).toEqual([]);
  });
});

describe('a content pack', () => {
  const setUp = (orgId: string | null, apiKey: string) =>
    settings.create(
      orgId,
      { domain: 'contentpack', providerId: 'vecteezy', credentials: { accountId: '75', apiKey } },
      DOER,
    );

  test('a search uses the key of the organization, else that of the instance, and is not cached', async () => {
    await setUp(null, 'sk_instance');
    await setUp(ann.orgId, 'sk_ann');
    for (const who of [ann, ann, ben])
      expect((await search(who, 'source=vecteezy&q=lake')).body.items).toMatchObject([{ id: '4', source: 'vecteezy' }]);
    expect(world.keys).toEqual(['Bearer sk_ann', 'Bearer sk_ann', 'Bearer sk_instance']);
    expect(kept).toEqual([]);
  });

  test('counts licences for content packs alone: free sources are bounded by their requests', async () => {
    world.on.set('/unsplash/photos/', () => ({ status: 404, json: {} }));
    for (let n = 0; n < 51; n++) {
      expect((await imported(ben, 'unsplash', `item-${n}`)).status).toBe(400);
      if (n % 10 === 9) aheadMs += 3_600_000;
    }
  });

  test('an organization licenses at most fifty items a day with the key of the operator', async () => {
    await setUp(null, 'sk_instance').catch(() => undefined); // it may be there already
    const bens = await settings.configured(ben.orgId, 'contentpack');
    expect(bens.size).toBe(0);
    // whether or not it is there, it was asked for
    world.on.set('/vecteezy/resources/', () => ({ status: 404, json: {} }));
    for (let n = 0; n < 50; n++) {
      expect((await imported(ben, 'vecteezy', `item-${n}`)).status).toBe(400);
      if (n % 20 === 19) aheadMs += 3_600_000;
    }
    expect((await imported(ben, 'vecteezy', 'item-50')).status).toBe(429);
    aheadMs += 86_400_000;
    expect((await imported(ben, 'vecteezy', 'item-50')).status).toBe(400);
  });

  test('the file keeps provider and version [VE17]', async () => {
    const { status, body } = await imported(ann, 'vecteezy', '4');
    expect([status, body.attribution]).toMatchObject([
      201,
      {
        provider: 'contentpack/vecteezy',
        version: 'v1',
        itemId: '4',
        licence: 'Vecteezy licence of the account',
        credit: null,
      },
    ]);
  });

  test.each([
    ['a plan that does not have it', 403, 409, 'exhausted'],
    ['a key that it does not take', 401, 409, 'reauthorize'],
    ['an item that it does not give', 422, 409, 'rejected'],
    ['a fault of its own', 503, 502, 'unavailable'],
  ])(
    'a content pack that refuses for %s is reported with the reason, not as an internal error',
    async (name, said, status, failure) => {
      const id = `refused-${said}`;
      world.on.set('/vecteezy/resources/', () => ({ status: said, json: { error: `No: ${name}, sk_ann` } }));
      const refused = await imported(ann, 'vecteezy', id);
      expect([refused.status, refused.body.failure]).toEqual([status, failure]);
      expect(refused.text).not.toContain('sk_ann');
    },
  );
});
