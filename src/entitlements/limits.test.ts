import { describe, expect, test } from '@jest/globals';
import { fc } from '../../test/support/properties.ts';
import { AppError } from '../platform/kernel/index.ts';
import { changeOverrides, limitsOf } from './limits.ts';
import { type Dimension, DIMENSIONS, type PlanLimits, PLANS, TIERS } from './plans.ts';

const each = <T>(value: (dimension: Dimension) => T) =>
  Object.fromEntries(DIMENSIONS.map((one) => [one, value(one)])) as Record<Dimension, T>;
const NONE: PlanLimits = each(() => 0);
const SIZES = each((dimension) => ({
  packSize:
    { storage_gb: 25, video_exports: 50, posts_per_month: 500, webhooks: 10, competitors: 10 }[dimension as string] ??
    5,
}));
const faultsOf = (act: () => unknown): unknown => {
  try {
    act();
  } catch (error) {
    return error instanceof AppError && error.extra['errors'];
  }
  return undefined;
};

// Month, year, channels, posts, seats, brand kits, campaigns, API, MCP, webhooks, competitors, retention, video
// exports, storage: as the specification's table has them.
const TABLE = `
  STARTER 9 90 3 100 1 0 no no no 1 1 180 15 1
  PRO 29 290 10 1000000 3 2 yes yes yes 5 5 548 60 5
  TEAM 99 990 30 1000000 10 10 yes yes yes 20 20 548 200 20
  AGENCY 249 2490 100 1000000 25 1000000 yes yes yes 1000000 50 548 600 100`
  .trim()
  .split('\n')
  .map((line) => line.trim().split(' ') as [string, ...string[]]);

test.each([
  [TABLE[0]!, '[LM1]'],
  [TABLE[1]!, '[LM2]'],
  [TABLE[2]!, '[LM3]'],
  [TABLE[3]!, '[LM4]'],
])('a plan has its prices, limits and features: %j %s', ([tier, ...cells]) => {
  const { monthPrice, yearPrice, limits, campaigns, api, mcp, analyticsRetentionDays } = PLANS[tier as 'PRO'];
  const yes = (flag: boolean) => (flag ? 'yes' : 'no');
  const { channel, posts_per_month, team_members, brand_kits, webhooks, competitors, video_exports, storage_gb } =
    limits;
  expect(
    [
      monthPrice,
      yearPrice,
      channel,
      posts_per_month,
      team_members,
      brand_kits,
      yes(campaigns),
      yes(api),
      yes(mcp),
      webhooks,
      competitors,
      analyticsRetentionDays,
      video_exports,
      storage_gb,
    ].map(String),
  ).toEqual(cells);
});

describe('an effective limit', () => {
  const tier = fc.constantFrom(...TIERS);
  const dimension = fc.constantFrom(...DIMENSIONS);
  const count = fc.nat({ max: 10_000 });

  test('is the sum of the plan and its packs [LM9]', () => {
    fc.assert(
      fc.property(tier, dimension, count, (name, one, packs) => {
        const limits = limitsOf(PLANS[name], { ...NONE, [one]: packs }, SIZES, {});
        for (const other of DIMENSIONS)
          expect(limits[other].effective).toBe(
            PLANS[name].limits[other] + (other === one ? packs * SIZES[other].packSize : 0),
          );
      }),
    );
  });

  test('is the override if there is one, in place of plan and packs, higher or lower [LM9, LM10]', () => {
    fc.assert(
      fc.property(tier, dimension, count, count, (name, one, packs, override) => {
        const limits = limitsOf(PLANS[name], { ...NONE, [one]: packs }, SIZES, { [one]: override });
        expect(limits[one]).toEqual({
          plan: PLANS[name].limits[one],
          addons: packs * SIZES[one].packSize,
          override,
          effective: override,
        });
        for (const other of DIMENSIONS) if (other !== one) expect(limits[other].override).toBeNull();
      }),
    );
  });
});

describe('a change of overrides', () => {
  test('sets numbers, clears with null and leaves absent keys unchanged', () => {
    expect(changeOverrides({ channel: 5, webhooks: 2 }, { channel: null, storage_gb: 0 })).toEqual({
      webhooks: 2,
      storage_gb: 0,
    });
    expect(changeOverrides({ channel: 5 }, {})).toEqual({ channel: 5 });
  });

  test('goes up to what any organization may have', () => {
    expect(changeOverrides({}, { webhooks: 200 })).toEqual({ webhooks: 200 });
    expect(faultsOf(() => changeOverrides({}, { webhooks: 201 }))).toMatchObject([
      { field: 'overrides.webhooks', rule: 'too_big' },
    ]);
  });

  test.each(['analytics_retention_days', 'channels', 'Channel', '', '__proto__', 'constructor', 'toString'])(
    'with the key %j is rejected as a whole',
    (key) => {
      expect(
        faultsOf(() => changeOverrides({}, JSON.parse(`{"channel": 1, ${JSON.stringify(key)}: 1}`))),
      ).toMatchObject([{ field: `overrides.${key}`, rule: 'invalid_key' }]);
    },
  );

  test.each([-1, 1.5, Number.NaN, 2 ** 53])('to %p is rejected', (value) => {
    expect(faultsOf(() => changeOverrides({}, { channel: value }))).toMatchObject([
      { field: 'overrides.channel', rule: 'invalid_value' },
    ]);
  });
});
