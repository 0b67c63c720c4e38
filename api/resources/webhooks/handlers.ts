import { z } from 'zod';
import { organizationActor } from '../../../actors/organization/contract.ts';
import { type WebhookAttemptRow, WebhookBody, WebhookUpdate } from '../../../src/delivery/webhooks/index.ts';
import { auditActor } from '../../http/audit-actor.ts';
import { type AuthKind, type Call, routesOf } from '../../http/route.ts';
import {
  Attempt,
  presentAttempt,
  presentEvent,
  presentWebhook,
  viewFor,
  Webhook,
  WebhookEvent,
  type WebhookView,
  WebhookWithSecret,
} from './shape.ts';

const route = routesOf('vault', 'webhooks');

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

interface Family {
  prefix: '' | '/public/v1';
  auth: readonly [AuthKind, ...AuthKind[]];
}
/** The routes that console and public API have in common. */
export const webhookRoutes = ({ prefix, auth }: Family) => [
  route({
    method: 'get',
    path: `${prefix}/webhooks`,
    summary: 'List webhooks with their delivery statistics',
    auth,
    answer: z.array(Webhook),
    handle: async ({ rooms, principal }) =>
      (await rooms.webhooks.list(principal.orgId)).map((row) => viewFor(principal, row)),
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
    answer: WebhookWithSecret,
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
      await actors(organizationActor, orgId).addWebhook({
        ...webhook,
        by: auditActor({ principal, request }),
        ...(key && { idempotency: key }),
      });
      return view;
    },
    present: (view) => view,
  }),

  route({
    method: 'put',
    path: `${prefix}/webhooks`,
    summary: 'Change a webhook',
    description:
      '`rotateSecret: true` answers a new signing secret, once; the one before signs beside it for 24 hours.',
    auth,
    impersonation: 'allowed',
    permission: 'webhooks:update',
    body: WebhookUpdate.extend({ id: z.string() }),
    answer: WebhookWithSecret,
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
    answer: z.strictObject({
      items: z.array(WebhookEvent),
      last: z.int(),
      oldest: z
        .int()
        .nullable()
        .meta({ description: 'The first number that is still kept: events before it are gone.' }),
    }),
    handle: ({ rooms, principal, params, query }) => rooms.webhooks.events(principal.orgId, params.id, query.after),
    present: ({ items, last, oldest }) => ({ items: items.map(presentEvent), last, oldest }),
  }),
];

export const attemptsPage = {
  query: z.object({
    limit: z.coerce.number().int().min(1).max(100).default(50),
    cursor: z.string().optional(),
    state: z
      .enum(['pending', 'succeeded', 'failed'])
      .optional()
      .meta({ description: 'Of deliveries in this state the last attempt of each.' }),
  }),
  answer: z.strictObject({ items: z.array(Attempt), nextCursor: z.string().nullable() }),
  present: ({ items, nextCursor }: { items: readonly WebhookAttemptRow[]; nextCursor: string | null }) => ({
    items: items.map(presentAttempt),
    nextCursor,
  }),
};
