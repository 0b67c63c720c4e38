import { expect, test } from '@jest/globals';
import { planOf, requireFeature } from './access.ts';
import { TIERS } from './plans.ts';

test.each([
  ['campaigns', 'Your plan does not include campaigns'],
  ['api', 'Your plan does not include the API'],
  ['mcp', 'Your plan does not include MCP'],
] as const)('a plan without %s answers 402 naming it, and every other plan passes [S58]', (feature, message) => {
  for (const tier of TIERS) {
    const act = () => requireFeature(tier, feature);
    if (tier === 'STARTER')
      expect(act).toThrow(expect.objectContaining({ code: 'plan_required', status: 402, message }));
    else expect(act).not.toThrow();
  }
});

test('a client works under the plan of its org until the grace period ends; an org without a plan answers 401 [AU10]', () => {
  const now = new Date('2026-03-29T02:30:00Z');
  const graceEndsAt = (ms: number) => new Date(now.getTime() + ms);
  expect(planOf({ tier: 'TEAM', graceEndsAt: null }, now)).toBe('TEAM');
  expect(planOf({ tier: 'TEAM', graceEndsAt: graceEndsAt(1) }, now)).toBe('TEAM');
  for (const subscribed of [
    { tier: null, graceEndsAt: null },
    { tier: 'TEAM' as const, graceEndsAt: graceEndsAt(0) },
    { tier: 'TEAM' as const, graceEndsAt: graceEndsAt(-86_400_000 * 400) },
  ])
    expect(() => planOf(subscribed, now)).toThrow(expect.objectContaining({ code: 'no_subscription', status: 401 }));
});
