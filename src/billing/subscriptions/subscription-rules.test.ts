import { describe, expect, test } from '@jest/globals';
import { TIERS } from '../../entitlements/plans.ts';
import { RemoteSubscription } from '../processor/processor.ts';
import {
  isLower,
  moveTo,
  NOTICE_DAYS,
  packOffer,
  planMetadata,
  planOffer,
  reachOf,
  readSubscription,
  startsPending,
  tiersAfter,
} from './subscription-rules.ts';

const SECOND = 1_790_000_000;
const at = (seconds: number) => new Date((SECOND + seconds) * 1000);
const remote = (more: Record<string, unknown> = {}) =>
  RemoteSubscription.parse({
    id: 'sub_1',
    object: 'subscription',
    customer: 'cus_1',
    status: 'active',
    created: SECOND,
    metadata: { service: 'service', billing: 'PRO', period: 'MONTHLY', uniqueId: 'checkout' },
    items: { data: [{ id: 'si_1', quantity: 1, current_period_end: SECOND + 100, price: { id: 'price_1' } }] },
    ...more,
  });

describe('a requested change of a running plan', () => {
  test.each(TIERS.flatMap((tier) => TIERS.map((wanted) => [tier, wanted] as const)))(
    '%s, wanted %s',
    (tier, wanted) => {
      const current = { tier, period: 'MONTHLY' as const, pendingTier: null };
      const lower = TIERS.indexOf(wanted) < TIERS.indexOf(tier);
      expect(isLower(wanted, tier)).toBe(lower);
      expect(moveTo(current, { tier: wanted, period: 'MONTHLY' })).toBe(
        tier === wanted ? 'same' : lower ? 'later' : 'now',
      );
      expect(moveTo(current, { tier: wanted, period: 'YEARLY' })).toBe(lower ? 'impossible' : 'now');
    },
  );

  test('withdraws a pending downgrade when the current plan is requested, and is pending when it is requested again', () => {
    const current = { tier: 'TEAM' as const, period: 'YEARLY' as const, pendingTier: 'PRO' as const };
    expect(
      ['TEAM', 'PRO', 'STARTER', 'AGENCY'].map((tier) => moveTo(current, { tier: tier as 'TEAM', period: 'YEARLY' })),
    ).toEqual(['withdraw', 'pending', 'later', 'now']);
  });
});

describe('subscription state from the processor', () => {
  test('reads the plan from metadata; a pending one stays until the processor drops it', () => {
    expect(readSubscription(remote())).toMatchObject({
      identifier: 'checkout',
      state: 'live',
      owing: false,
      item: { kind: 'plan', tier: 'PRO', period: 'MONTHLY', pending: null },
    });
    const metadata = { ...remote().metadata, ...planMetadata('PRO', 'MONTHLY', { tier: 'STARTER', from: at(100) }) };
    const read = readSubscription(remote({ metadata }))!;
    expect(read.item).toMatchObject({ pending: { tier: 'STARTER', from: at(100) } });
    if (read.item.kind !== 'plan') throw new Error('a plan');
    const row = { processorId: 'sub_1', tier: 'PRO' as const, pendingTier: 'STARTER' as const };
    expect(tiersAfter(read.item, row, 'sub_1')).toEqual({ tier: 'PRO', pending: { tier: 'STARTER', from: at(100) } });
    expect(tiersAfter(read.item, { ...row, tier: 'STARTER', pendingTier: null }, 'sub_1')).toEqual({
      tier: 'STARTER',
      pending: null,
    });
    expect(tiersAfter(read.item, { ...row, tier: 'STARTER', pendingTier: null }, 'sub_2')).toMatchObject({
      tier: 'PRO',
    });
    expect(tiersAfter(read.item, undefined, 'sub_1')).toMatchObject({ tier: 'PRO', pending: { tier: 'STARTER' } });
  });

  test('reads packs from the quantity of their item', () => {
    const packs = remote({ metadata: { addon: 'channel' }, items: { data: [{ id: 'si_1', quantity: 7 }] } });
    expect(readSubscription(packs)).toMatchObject({
      item: { kind: 'packs', dimension: 'channel', packs: 7 },
      identifier: 'sub_1',
    });
    expect(readSubscription(remote({ metadata: { addon: 'cake' } }))).toBeUndefined();
  });

  test.each([
    ['incomplete', 'open', false],
    ['trialing', 'live', false],
    ['active', 'live', false],
    ['past_due', 'live', true],
    ['unpaid', 'live', true],
    ['paused', 'live', true],
    ['canceled', 'over', false],
    ['incomplete_expired', 'over', false],
  ])('maps status %s to %s', (status, state, owing) =>
    expect(readSubscription(remote({ status }))).toMatchObject({ state, owing, inTrial: status === 'trialing' }),
  );

  test('reads the end of the period from the item, or from its older place; a cancellation is at that end', () => {
    expect(readSubscription(remote({ cancel_at_period_end: true }))).toMatchObject({
      periodEnd: at(100),
      cancelAt: at(100),
    });
    expect(readSubscription(remote({ cancel_at: SECOND + 7 }))).toMatchObject({ cancelAt: at(7) });
    expect(
      readSubscription(remote({ current_period_end: SECOND + 9, items: { data: [{ id: 'si_1' }] } })),
    ).toMatchObject({ periodEnd: at(9), cancelAt: null });
  });

  test('counts an included invoice when it is paid', () => {
    const latest_invoice = { status: 'paid', billing_reason: 'subscription_cycle', created: SECOND };
    expect(readSubscription(remote({ latest_invoice }))).toMatchObject({ invoice: { cycle: true, createdAt: at(0) } });
    for (const [billing_reason, cycle] of [
      ['subscription_update', true],
      ['subscription_create', false],
      ['manual', false],
      [null, false],
    ] as const)
      expect(readSubscription(remote({ latest_invoice: { ...latest_invoice, billing_reason } }))).toMatchObject({
        invoice: { cycle },
      });
    expect(readSubscription(remote({ latest_invoice: { ...latest_invoice, status: 'open' } }))).toMatchObject({
      invoice: null,
    });
    expect(readSubscription(remote({ latest_invoice: 'in_1' }))).toMatchObject({ invoice: null });
  });

  test('starts the lower plan with the paid invoice of a later period, and with no other', () => {
    const invoice = { cycle: true, createdAt: at(0) };
    expect([
      startsPending(invoice, at(0)),
      startsPending(invoice, at(1)),
      startsPending({ ...invoice, cycle: false }, at(0)),
      startsPending(invoice, null),
    ]).toEqual([true, false, false, false]);
  });
});

test('derives the effect of an event from the known state [S78]', () => {
  const known = { lastEventAt: at(10), changedAt: null, endedAt: null };
  expect(reachOf(at(1), undefined)).toBe('apply');
  expect([9, 10, 11].map((seconds) => reachOf(at(seconds), known))).toEqual(['ask', 'apply and ask', 'apply']);
  expect([10, 20, 25, 26].map((seconds) => reachOf(at(seconds), { ...known, changedAt: at(20) }))).toEqual([
    'ask',
    'ask',
    'ask',
    'apply',
  ]);
  expect(reachOf(at(99), { ...known, endedAt: at(0) })).toBe('ended');
});

test('a different price, service, plan or period gets a different key [AD10]', () => {
  const keys = [
    ...TIERS.flatMap((tier) =>
      (['MONTHLY', 'YEARLY'] as const).map((period) => planOffer('service', { tier, period }).key),
    ),
    planOffer('other', { tier: 'PRO', period: 'MONTHLY' }).key,
    packOffer('service', 'channel', 1_900).key,
    packOffer('service', 'channel', 2_000).key,
    packOffer('service', 'webhooks', 1_900).key,
  ];
  expect(new Set(keys).size).toBe(keys.length);
  expect(keys[0]).toBe('service:plan-starter:month:900');
});

test('notices are sent on day 0, 3 and 6 [S220]', () => expect(NOTICE_DAYS).toEqual([0, 3, 6]));
