import { z } from 'zod';
import { PERIODS } from '../../../src/billing/subscriptions/index.ts';
import { auditActor } from '../../http/audit-actor.ts';
import { instant } from '../../http/fields.ts';
import { type Caller, routesOf } from '../../http/route.ts';
import {
  BillingOverview,
  Charge,
  Dimension,
  packs,
  presentBilling,
  presentCharge,
  presentPackages,
  presentSubscription,
  PriceList,
  Subscription,
  Tier,
} from './shape.ts';

const route = routesOf('billing', 'payments');

const Going = z.array(z.strictObject({ id: z.string(), name: z.string() }));
const Plan = z.strictObject({ period: z.enum(PERIODS), billing: Tier });
const url = z.strictObject({ url: z.string() });
const portal = z.strictObject({ portal: z.string() });

const buyer = (call: Caller) => ({ ...auditActor(call), userId: call.principal.userId });

/** For routes that move money, or a plan. */
const managed = { auth: ['session'], permission: 'billing:manage', impersonation: 'refused' } as const;
const read = { auth: ['session'], permission: 'billing:read' } as const;

export default [
  route({
    method: 'get',
    path: '/billing',
    summary: 'Get the subscription and limits with their usage',
    ...read,
    answer: BillingOverview,
    async handle({ rooms: { billing, payments }, principal: { orgId } }) {
      const [subscription, { limits }] = await Promise.all([payments.subscription(orgId), billing.usage(orgId)]);
      return { subscription, limits, enabled: billing.enabled };
    },
    present: presentBilling,
  }),

  route({
    method: 'get',
    path: '/billing/subscription',
    summary: 'Get the subscription',
    description: '`null` when there is none.',
    ...read,
    answer: Subscription.nullable(),
    handle: ({ rooms, principal }) => rooms.payments.subscription(principal.orgId),
    present: (row) => (row ? presentSubscription(row) : null),
  }),

  route({
    method: 'get',
    path: '/billing/packages',
    summary: 'List plans and add-ons for sale',
    description: 'Prices of plans are in USD, of add-ons in cents a month.',
    auth: ['session'],
    answer: PriceList,
    handle: async ({ rooms }) => ({ enabled: rooms.billing.enabled, addons: rooms.payments.addons }),
    present: presentPackages,
  }),

  route({
    method: 'post',
    path: '/billing/subscribe',
    summary: 'Order a plan',
    description: 'Answers a page to pay on, a page to settle a failed payment on, or the subscription as it is now.',
    ...managed,
    idempotent: true,
    body: Plan.extend({ utm: z.string().max(500).optional() }),
    answer: z.union([url, portal, z.strictObject({ subscription: Subscription })]),
    handle: ({ rooms, body: { billing: tier, period, utm }, ...call }) =>
      rooms.payments.subscribe(call.principal.orgId, buyer(call), { tier, period, utm }),
    present: (ordered) =>
      'subscription' in ordered ? { subscription: presentSubscription(ordered.subscription) } : ordered,
  }),

  route({
    method: 'post',
    path: '/billing/prorate',
    summary: 'Preview the cost of a plan change',
    description:
      'Cents that the order would cost now, and the channels and members that a lower plan leaves no room for.',
    ...managed,
    body: Plan,
    answer: z.strictObject({ price: z.int(), pruned: z.strictObject({ channels: Going, members: Going }) }),
    handle: ({ rooms, principal, body: { billing: tier, period } }) =>
      rooms.payments.prorate(principal.orgId, { tier, period }),
    present: (answer) => answer,
  }),

  route({
    method: 'get',
    path: '/billing/check/:id',
    summary: 'Get the state of a checkout',
    description: '0: not found, 1: pending, 2: done.',
    ...managed,
    answer: z.strictObject({ status: z.union([z.literal(0), z.literal(1), z.literal(2)]) }),
    handle: ({ rooms, principal, params }) => rooms.payments.check(principal.orgId, params.id),
    present: (status) => ({ status }),
  }),

  route({
    method: 'get',
    path: '/billing/addons',
    summary: 'List the add-ons of the organization',
    ...read,
    answer: z.array(z.strictObject({ type: Dimension, packs, packSize: z.int(), priceCents: z.int() })),
    handle: ({ rooms, principal }) => rooms.payments.listAddons(principal.orgId),
    present: (addons) => addons,
  }),

  route({
    method: 'post',
    path: '/billing/addons',
    summary: 'Set the quantity of an add-on',
    description: 'The first packs are paid on a page, whose address is answered.',
    ...managed,
    idempotent: true,
    body: z.strictObject({ type: Dimension, packs: z.int().min(1).max(100) }),
    answer: z.union([url, z.strictObject({ type: Dimension, packs })]),
    handle: ({ rooms, body: { type, packs: wanted }, ...call }) =>
      rooms.payments.setAddon(call.principal.orgId, buyer(call), type, wanted),
    present: (answer) => answer,
  }),

  route({
    method: 'delete',
    path: '/billing/addons/:type',
    summary: 'Cancel an add-on',
    description: 'It ends with the period that is paid for.',
    ...managed,
    answer: z.strictObject({ type: Dimension, packs: z.literal(0) }),
    handle: ({ rooms, params, ...call }) =>
      rooms.payments.removeAddon(call.principal.orgId, auditActor(call), params.type),
    present: (answer) => answer,
  }),

  route({
    method: 'get',
    path: '/billing/charges',
    summary: 'List payments with their receipts',
    description: 'Newest first, at most 100, with links to receipts and PDFs.',
    auth: ['session'],
    permission: 'billing:manage',
    answer: z.array(Charge),
    handle: ({ rooms, principal }) => rooms.payments.charges(principal.orgId),
    present: (charges) => charges.map(presentCharge),
  }),

  route({
    method: 'post',
    path: '/billing/refund-charges',
    summary: 'Refund payments and end the plan',
    description: 'Payments of the last 14 days, once a year. A super-admin may refund any, and the plan stays.',
    ...managed,
    body: z.strictObject({ chargeIds: z.array(z.string().min(1).max(255)).min(1).max(50) }),
    answer: z.strictObject({
      refunded: z.array(z.string()),
      failed: z.array(z.strictObject({ id: z.string(), reason: z.string() })),
    }),
    handle: ({ rooms, body, ...call }) =>
      rooms.payments.refundCharges(call.principal.orgId, auditActor(call), body.chargeIds, call.principal.isSuperAdmin),
    present: (refunds) => refunds,
  }),

  route({
    method: 'post',
    path: '/billing/cancel',
    summary: 'Cancel the subscription at the end of the period',
    description: '`undo` withdraws the cancellation.',
    ...managed,
    body: z.strictObject({ feedback: z.string().max(2_000), undo: z.boolean().default(false) }),
    answer: z.strictObject({ id: z.string(), cancel_at: instant.nullable() }),
    handle: ({ rooms, body, ...call }) => rooms.payments.cancel(call.principal.orgId, auditActor(call), body),
    present: ({ id, cancelAt }) => ({ id, cancel_at: cancelAt?.toISOString() ?? null }),
  }),

  route({
    method: 'post',
    path: '/billing/cancel-subscription',
    summary: 'Cancel the subscription immediately',
    ...managed,
    answer: z.strictObject({ cancelled: z.literal(true) }),
    handle: ({ rooms, ...call }) => rooms.payments.cancelNow(call.principal.orgId, auditActor(call)),
    present: () => ({ cancelled: true as const }),
  }),

  route({
    method: 'get',
    path: '/billing/portal',
    summary: 'Get the address of the payment portal',
    description: "The organization's own page at the payment processor.",
    ...read,
    impersonation: 'refused',
    answer: portal,
    handle: ({ rooms, principal }) => rooms.payments.portal(principal.orgId),
    present: (address) => ({ portal: address }),
  }),

  route({
    method: 'post',
    path: '/billing/finish-trial',
    summary: 'End the trial',
    ...read,
    impersonation: 'refused',
    answer: z.strictObject({ finish: z.literal(true) }),
    handle: ({ rooms, ...call }) => rooms.payments.finishTrial(call.principal.orgId, auditActor(call)),
    present: () => ({ finish: true as const }),
  }),

  route({
    method: 'get',
    path: '/billing/is-trial-finished',
    summary: 'Check whether the trial is over',
    description: 'False while a trial runs, or may still begin.',
    auth: ['session'],
    answer: z.strictObject({ finished: z.boolean() }),
    handle: ({ rooms, principal }) => rooms.payments.isTrialFinished(principal.orgId),
    present: (finished) => ({ finished }),
  }),

  route({
    method: 'post',
    path: '/billing/lifetime',
    summary: 'Redeem a lifetime plan code',
    description: 'The organization gets AGENCY for life.',
    ...managed,
    body: z.strictObject({ code: z.string().max(4_096) }),
    answer: z.strictObject({ success: z.literal(true) }),
    handle: ({ rooms, body, ...call }) => rooms.payments.redeem(call.principal.orgId, auditActor(call), body.code),
    present: () => ({ success: true as const }),
  }),

  route({
    method: 'get',
    path: '/billing/check-discount',
    summary: 'Get a token for the discount coupon',
    description: '`false` where the organization may not have it.',
    ...managed,
    answer: z.strictObject({ offerCoupon: z.union([z.literal(false), z.string()]) }),
    handle: ({ rooms, principal }) => rooms.payments.offerDiscount(principal.orgId),
    present: (offerCoupon) => ({ offerCoupon }),
  }),

  route({
    method: 'post',
    path: '/billing/apply-discount',
    summary: 'Apply the offered coupon',
    ...managed,
    body: z.strictObject({ token: z.string().max(4_096) }),
    answer: z.strictObject({ success: z.boolean() }),
    handle: ({ rooms, body, ...call }) =>
      rooms.payments.applyDiscount(call.principal.orgId, auditActor(call), body.token),
    present: (success) => ({ success }),
  }),
];
