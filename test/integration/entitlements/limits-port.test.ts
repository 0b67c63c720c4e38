import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Dimension } from '../../../src/entitlements/index.ts';
import { override, subscribe, WITH_BILLING } from '../../support/worlds/billing.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { openPublishing, seedOrg } from '../../support/worlds/publishing/world.ts';

// What rooms ask of billing before they write: how many of each dimension an organization may have.

let db: TestDatabase;
let world: Awaited<ReturnType<typeof openPublishing>>;
beforeAll(async () => {
  db = await testDatabase();
  world = await openPublishing({ url: db.url, env: WITH_BILLING });
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
});

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'granted',
    (error: { code: string; extra: { limit?: string; max?: number } }) =>
      `${error.code} ${error.extra.limit} ${error.extra.max}`,
  );
const admit = (orgId: string, of: Exclude<Dimension, 'posts_per_month'>, more: number) =>
  codeOf(db.sql.begin((tx) => world.billing.admit(tx, orgId, of, more)));

describe('the limits port', () => {
  test.each([
    ['STARTER', { brand_kits: 0, competitors: 1, video_exports: 15 }],
    ['PRO', { brand_kits: 2, competitors: 5, video_exports: 60 }],
    ['AGENCY', { brand_kits: 1_000_000, competitors: 50, video_exports: 600 }],
  ] as const)(
    'admits as many as the plan %s has and refuses one more with the name of the limit [LM11, S5]',
    async (tier, limits) => {
      const { orgId } = await seedOrg(db.sql);
      await subscribe(db.sql, orgId, { tier });
      for (const [of, max] of Object.entries(limits) as [keyof typeof limits, number][]) {
        expect([of, await admit(orgId, of, max)]).toEqual([of, 'granted']);
        expect(await admit(orgId, of, max + 1)).toBe(`limit_exceeded ${of} ${max}`);
      }
    },
  );

  test('counts packs and an override as well [LM9, LM10]', async () => {
    const { orgId } = await seedOrg(db.sql);
    await subscribe(db.sql, orgId, { tier: 'STARTER', packs: { extra_brand_kits: 2, extra_video_exports: 1 } });
    expect([await admit(orgId, 'brand_kits', 10), await admit(orgId, 'brand_kits', 11)]).toEqual([
      'granted',
      'limit_exceeded brand_kits 10',
    ]);
    expect([await admit(orgId, 'video_exports', 65), await admit(orgId, 'video_exports', 66)]).toEqual([
      'granted',
      'limit_exceeded video_exports 65',
    ]);
    await override(db.sql, orgId, { brand_kits: 3, video_exports: Number.MAX_SAFE_INTEGER });
    expect([await admit(orgId, 'brand_kits', 3), await admit(orgId, 'brand_kits', 4)]).toEqual([
      'granted',
      'limit_exceeded brand_kits 3',
    ]);
    expect(await admit(orgId, 'video_exports', 1_000_000_000)).toBe('granted');
  });
});
