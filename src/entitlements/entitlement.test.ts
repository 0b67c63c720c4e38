import { describe, expect, test } from '@jest/globals';
import { DIMENSIONS, type PlanLimits, PLANS } from './plans.ts';
import { type Facts, NO_PACKS, entitlementOf } from './entitlement.ts';

const SIZES = Object.fromEntries(DIMENSIONS.map((one) => [one, { packSize: 5 }])) as Record<
  keyof PlanLimits,
  { packSize: number }
>;
const now = new Date('2026-05-20T12:00:00Z');
const facts = (more: Partial<Facts> = {}): Facts => ({
  now,
  orgCreatedAt: new Date('2026-01-10T08:00:00Z'),
  overrides: {},
  subscription: null,
  ...more,
});
const subscription = (more: Partial<NonNullable<Facts['subscription']>> = {}) => ({
  tier: 'TEAM' as const,
  createdAt: new Date('2026-03-31T09:00:00Z'),
  packs: NO_PACKS,
  graceEndsAt: null,
  isLifetime: false,
  isTrial: false,
  ...more,
});

describe('with billing, an org', () => {
  test('without a subscription has the limits of STARTER, months from its own beginning, and its overrides [S217]', () => {
    const entitlement = entitlementOf(facts({ overrides: { channel: 7 } }), SIZES, true);
    expect(entitlement).toMatchObject({
      tier: 'STARTER',
      subscribed: false,
      month: { start: new Date('2026-05-10T08:00:00Z'), end: new Date('2026-06-10T08:00:00Z') },
    });
    expect(entitlement.limits).toMatchObject({
      channel: { plan: 3, effective: 7 },
      posts_per_month: { effective: 100 },
    });
  });

  test('has the limits of its plan and packs, and months from the beginning of its subscription [LM9, LM13]', () => {
    const entitlement = entitlementOf(
      facts({ subscription: subscription({ packs: { ...NO_PACKS, webhooks: 3 } }) }),
      SIZES,
      true,
    );
    expect(entitlement).toMatchObject({
      tier: 'TEAM',
      subscribed: true,
      month: { start: new Date('2026-04-30T09:00:00Z'), end: new Date('2026-05-31T09:00:00Z') },
    });
    expect(entitlement.limits.webhooks).toEqual({ plan: 20, addons: 15, override: null, effective: 35 });
    expect(entitlement.until).toEqual(entitlement.month.end);
  });

  test('keeps its plan through the grace period and loses it at the end [S80]', () => {
    const graceEndsAt = new Date(now.getTime() + 1);
    const during = entitlementOf(facts({ subscription: subscription({ graceEndsAt }) }), SIZES, true);
    expect(during).toMatchObject({ tier: 'TEAM', subscribed: true, until: graceEndsAt });
    const after = entitlementOf(
      facts({ subscription: subscription({ graceEndsAt: now, packs: { ...NO_PACKS, channel: 9 } }) }),
      SIZES,
      true,
    );
    expect(after).toMatchObject({ tier: 'STARTER', subscribed: false, until: after.month.end });
    expect(after.limits.channel.effective).toBe(3);
  });
});

test('every org is on AGENCY where billing is off, whatever its rows say [S216]', () => {
  for (const rows of [
    facts(),
    facts({
      overrides: { channel: 0 },
      subscription: subscription({ tier: 'PRO' as never, packs: { ...NO_PACKS, channel: 2 } }),
    }),
  ]) {
    const { tier, subscribed, limits } = entitlementOf(rows, SIZES, false);
    expect([tier, subscribed]).toEqual(['AGENCY', true]);
    for (const one of DIMENSIONS) expect(limits[one].effective).toBe(PLANS.AGENCY.limits[one]);
  }
});
