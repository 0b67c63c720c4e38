import { z } from 'zod';
import { organizationActor } from '../../../actors/organization/contract.ts';
import {
  presentAttempt,
  presentEvent,
  presentWebhook,
  WebhookBody,
  WebhookUpdate,
  type WebhookView,
  withoutAddress,
} from '../../../src/delivery/webhooks/index.ts';
import { auditActor } from '../../http/audit-actor.ts';
import { instant } from '../../http/fields.ts';
import { type AuthKind, type Call, type Principal, routesOf } from '../../http/route.ts';

const route = routesOf('vault', 'webhooks');

export const Webhook = z.strictObject({
  id: z.string(),
  name: z.string(),
  url: z.string(),
  integrations: z.array(z.strictObject({ id: z.string() })),
  events: z.array(z.string()),
  hasSecret: z.boolean(),
  createdAt: instant,
  updatedAt: instant,
  stats: z.strictObject({
    total: z.int(),
    succeeded: z.int(),
    failed: z.int(),
    lastStatus: z.int().nullable(),
    lastDeliveredAt: instant.nullable(),
    lastError: z.string().nullable(),
    consecutiveFailures: z.int(),
  }),
});
const WithSecret = Webhook.extend({ secret: z.string().optional() });
export const Sent = z.union([
  z.strictObject({ success: z.literal(true), status: z.int() }),
  z.strictObject({ success: z.literal(false), status: z.literal(0), error: z.string() }),
]);
const Attempt = z.strictObject({
  id: z.string(),
  event: z.string(),
  attempt: z.int(),
  status: z.int(),
  error: z.string().nullable(),
  durationMs: z.int(),
  at: instant,
});
const Event = z.strictObject({ seq: z.int(), id: z.string(), event: z.string(), body: z.string(), at: instant });

type Update = z.output<typeof WebhookUpdate>;
/** Judges, lets the Organization store, and answers the webhook as it then is; a new secret is shown this once. */
export async function changeWebhook(
  { rooms, actors, principal, request }: Pick<Call<'webhooks'>, 'rooms' | 'actors' | 'principal' | 'request'>,
  id: string,
  body: Update,
): Promise<WebhookView & { secret?: string }> {
  const { orgId } = principal;
  const { change, secret } = await rooms.webhooks.prepareChange(orgId, id, body);
  await actors(organizationActor, orgId).changeWebhook({ ...change, by: auditActor({ principal, request }) });
  return { ...presentWebhook(await rooms.webhooks.get(orgId, id)), ...(secret && { secret }) };
}

/** A webhook as this caller may see it. */
export const viewFor = ({ permissions }: Principal, row: Parameters<typeof presentWebhook>[0]): WebhookView =>
  permissions.has('webhooks:update') ? presentWebhook(row) : withoutAddress(presentWebhook(row));

interface Family {
  prefix: '' | '/public/v1';
  auth: readonly [AuthKind, ...AuthKind[]];
}
/** What the console and the public interface have in common. */
export const webhookRoutes = ({ prefix, auth }: Family) => [
  route({
    method: 'get',
    path: `${prefix}/webhooks`,
    summary: 'List webhooks with their delivery statistics',
    auth,
    answer: z.array(Webhook),
    handle: async ({ rooms, principal }) => (await rooms.webhooks.list(principal.orgId)).map((row) => viewFor(principal, row)),
    present: (views) => views,
  }),

  route({
    method: 'post',
    path: `${prefix}/webhooks`,
    summary: 'Create a webhook',
    description: '`secret: true` answers its own signing secret, once.',
    auth,
    impersonation: 'allowed',
    permission: 'webhooks:create',
    planLimit: 'webhooks',
    creates: true,
    idempotent: true,
    body: WebhookBody,
    answer: WithSecret,
    async handle({ rooms, actors, principal, body, idempotency, request }) {
      const { orgId } = principal;
      const { webhook, row, secret } = await rooms.webhooks.prepare(orgId, body);
      const view = { ...presentWebhook(row), ...(secret && { secret }) };
      const reply = JSON.stringify(view);
      const key = idempotency && {
        scope: idempotency.scope,
        key: idempotency.key,
        claim: idempotency.claim,
        status: 201,
        reply: secret ? rooms.vault.seal(reply) : reply,
      };
      await actors(organizationActor, orgId).addWebhook({ ...webhook, by: auditActor({ principal, request }), ...(key && { idempotency: key }) });
      return view;
    },
    present: (view) => view,
  }),

  route({
    method: 'put',
    path: `${prefix}/webhooks`,
    summary: 'Change a webhook',
    description: '`rotateSecret: true` answers a new signing secret, once; the one before signs beside it for 24 hours.',
    auth,
    impersonation: 'allowed',
    permission: 'webhooks:update',
    body: WebhookUpdate.extend({ id: z.string() }),
    answer: WithSecret,
    handle: ({ body: { id, ...body }, ...call }) => changeWebhook(call, id, body),
    present: (view) => view,
  }),

  route({
    method: 'delete',
    path: `${prefix}/webhooks/:id`,
    summary: 'Delete a webhook',
    description: 'Deliveries that wait are dropped.',
    auth,
    impersonation: 'allowed',
    permission: 'webhooks:delete',
    answer: z.strictObject({ id: z.string(), success: z.literal(true) }),
    async handle({ rooms, principal, params, request }) {
      await rooms.webhooks.remove(principal.orgId, params.id, auditActor({ principal, request }));
      return params.id;
    },
    present: (id) => ({ id, success: true as const }),
  }),

  route({
    method: 'get',
    path: `${prefix}/webhooks/:id/events`,
    summary: 'List events of a webhook',
    description: 'Those after a number, in order, for catching up.',
    auth,
    permission: 'webhooks:read',
    query: z.object({ after: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0) }),
    answer: z.strictObject({ items: z.array(Event), last: z.int() }),
    handle: ({ rooms, principal, params, query }) => rooms.webhooks.events(principal.orgId, params.id, query.after),
    present: ({ items, last }) => ({ items: items.map(presentEvent), last }),
  }),
];

export const attemptsPage = {
  query: z.object({ limit: z.coerce.number().int().min(1).max(100).default(50), cursor: z.string().optional() }),
  answer: z.strictObject({ items: z.array(Attempt), nextCursor: z.string().nullable() }),
  present: ({ items, nextCursor }: { items: readonly Parameters<typeof presentAttempt>[0][]; nextCursor: string | null }) => ({
    items: items.map(presentAttempt),
    nextCursor,
  }),
};
