import { z } from 'zod';
import { channelActor } from '../../../actors/channel/contract.ts';
import type { Actors } from '../../../src/platform/actor-runtime/index.ts';
import { invalidField, tenantKey } from '../../../src/platform/kernel/index.ts';
import { auditActor } from '../../http/audit-actor.ts';
import { requirePermission } from '../../http/permit.ts';
import { type Caller, routesOf } from '../../http/route.ts';
import { Channel, Page, presentChannel, presentPage } from './shape.ts';

const route = routesOf('channels');
const text = (max: number) => z.string().max(max).optional();

/** Wakes a channel that has a new login. The rows carry the guarantee; this saves the time until the reconciler looks. */
const wake = (actors: Actors, orgId: string, id: string) =>
  actors(channelActor, tenantKey(orgId, id))
    .wake({})
    .catch(() => undefined);

/** Who connects a channel. */
const connectorOf = ({ principal, request }: Caller) => ({
  orgId: principal.orgId,
  userId: principal.userId,
  mayUpdate: principal.permissions.has('channels:update'),
  by: auditActor({ principal, request }),
});
const pageId = z.string().min(1).max(1_024).optional();
/** The page that a body names: most networks call it `page`, some `id`. */
function pageIn({ page, id }: { page?: string | undefined; id?: string | undefined }) {
  const field = page === undefined ? 'id' : 'page';
  const wanted = page ?? id;
  if (wanted === undefined) throw invalidField('page', 'is needed', 'required');
  return { field, id: wanted };
}

export const connectRoutes = [
  route({
    method: 'get',
    path: '/integrations/social/:provider',
    summary: 'Start connecting a channel',
    description:
      'Answers the address of the consent page of the network. Where a person approves elsewhere, such as in a chat, `state` is answered, too: connecting asks with it whether that was done. Needs the permission channels:create; with `refresh`, which names a channel that is to get a new login, channels:update.',
    auth: ['session'],
    csrf: 'origin', // it keeps a state, and may register an app at the server that is named
    impersonation: 'allowed',
    permission: 'channels:create',
    orPermission: 'channels:update',
    query: z.object({
      refresh: text(255),
      externalUrl: text(2_048),
      onboarding: text(255),
      returnUrl: text(2_048),
      allowPreview: z.enum(['true', 'false']).optional(),
    }),
    answer: z.strictObject({ url: z.string(), state: z.string().optional() }),
    async handle({ rooms, principal, params, query: { refresh, externalUrl, returnUrl, allowPreview } }) {
      requirePermission(principal, refresh ? 'channels:update' : 'channels:create');
      return rooms.channels.begin(principal, params.provider, {
        refresh: refresh || undefined,
        externalUrl,
        returnUrl: returnUrl || undefined,
        allowPreview: allowPreview === 'true',
      });
    },
    present: (begun) => begun,
  }),
  route({
    method: 'post',
    path: '/integrations/social-connect/:provider',
    summary: 'Connect a channel',
    description:
      'With the code of the consent page, or with the fields of the network. `callback` holds further parameters with which the network sent the person back, such as `device_id` or `error`. With `inBetweenSteps` a page is still to be chosen, of `pages` (`POST /integrations/provider/:id/connect`). `timezone` is taken from clients that send it and changes nothing: posting times are minutes by the clocks of the organization. Needs the permission channels:create; for a login that was begun with `refresh`, channels:update.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'channels:create',
    orPermission: 'channels:update',
    planLimit: 'channel',
    csrf: 'params',
    body: z.strictObject({
      code: text(16_384),
      state: text(1_024),
      callback: z.record(z.string().max(100), z.string().max(4_096)).optional(),
      fields: z.record(z.string(), z.unknown()).optional(),
      refresh: text(255),
      timezone: z.union([z.string().max(100), z.number()]).optional(),
      params: text(4_096),
      allowPreview: z.boolean().optional(),
    }),
    answer: Channel.extend({ returnUrl: z.string().optional(), pages: z.array(Page).optional() }),
    async handle({ rooms, actors, principal, params, body, request }) {
      const { code, state, callback, fields, allowPreview } = body;
      const refresh = body.refresh || undefined;
      const person = connectorOf({ principal, request });
      const isAgain = await rooms.channels.isForChannel(person, params.provider, { state, refresh });
      // a state that was used or is too old connects nothing, whoever asks: they are told that
      if (isAgain !== undefined) requirePermission(principal, isAgain ? 'channels:update' : 'channels:create');
      const { id, created, returnUrl, choice } = await rooms.channels.complete(person, params.provider, {
        code,
        state,
        callback,
        fields,
        refresh,
        allowPreview,
      });
      if (!created) await wake(actors, principal.orgId, id);
      return { channel: await rooms.channels.getWithChoices(principal, id), returnUrl, pages: choice?.pages };
    },
    present: ({ channel, returnUrl, pages }) => ({
      ...presentChannel(channel),
      ...(returnUrl !== null && { returnUrl }),
      ...(pages && { pages: pages.map(presentPage) }),
    }),
  }),
  route({
    method: 'post',
    path: '/integrations/provider/:id/connect',
    summary: 'Choose the page of a channel',
    description:
      'Of a login with `inBetweenSteps`, by the person who logged in. `page` or `id` names one of its pages; other keys are ignored.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'channels:create',
    planLimit: 'channel',
    body: z.looseObject({ page: pageId, id: pageId }),
    answer: z.strictObject({ success: z.literal(true) }),
    async handle({ rooms, actors, principal, params, body, request }) {
      const person = connectorOf({ principal, request });
      const connected = await rooms.channels.connectPage(person, params.id, pageIn(body));
      if (connected && !connected.created) await wake(actors, principal.orgId, connected.id);
    },
    present: () => ({ success: true as const }),
  }),
];
