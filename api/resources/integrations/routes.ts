import { z } from 'zod';
import { channelActor } from '../../../actors/channel/contract.ts';
import type { Actors } from '../../../src/platform/actor-runtime/index.ts';
import { choiceOf } from '../../../src/publishing/egress/index.ts';
import { AppError, tenantKey } from '../../../src/platform/kernel/index.ts';
import { auditActor } from '../../http/audit-actor.ts';
import { type Call, routesOf } from '../../http/route.ts';
import { EgressChoice } from '../egress/shape.ts';
import { calendarRoutes } from './calendar.handlers.ts';
import { connectRoutes } from './connect.handlers.ts';
import { plugRoutes } from './plugs.handlers.ts';
import {
  Channel,
  Mention,
  Network,
  presentChannel,
  presentMention,
  presentNetwork,
  presentPage,
  Version,
} from './shape.ts';

const route = routesOf('channels', 'egress');

const line = (max: number) =>
  z
    .string()
    .max(max)
    .transform((text) => text.normalize('NFC').trim());
const named = (max: number) => line(max).pipe(z.string().min(1));
const ById = z.strictObject({ id: z.string().min(1) });
const Moved = z.strictObject({ id: z.string(), disabled: z.boolean() });
const Success = z.strictObject({ success: z.literal(true) });
const success = () => ({ success: true as const });
const Group = z.strictObject({ id: z.string(), name: z.string() });
const Question = z.strictObject({
  id: z.string().min(1).max(255),
  name: z.string().max(100),
  data: z.record(z.string(), z.unknown()).optional(),
});

const channelOf = (actors: Actors, orgId: string, id: string) => actors(channelActor, tenantKey(orgId, id));

const move = (name: 'enable' | 'disable') =>
  route({
    method: 'post',
    path: `/integrations/${name}`,
    summary: name === 'enable' ? 'Enable a channel' : 'Disable a channel',
    description: name === 'enable' ? 'Its waiting posts go on.' : 'Its posts wait.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'channels:update',
    ...(name === 'enable' && { planLimit: 'channel' as const }),
    body: ById,
    answer: Moved,
    async handle({ rooms, actors, principal, body: { id }, request }) {
      await rooms.channels.get(principal.orgId, id);
      await channelOf(actors, principal.orgId, id)[name]({ by: auditActor({ principal, request }) });
      return rooms.channels.get(principal.orgId, id);
    },
    present: ({ id, disabled }) => ({ id, disabled }),
  });

const deletion = {
  method: 'delete',
  summary: 'Delete a channel and its unpublished posts',
  auth: ['session'],
  impersonation: 'allowed',
  permission: 'channels:delete',
  body: z.strictObject({ id: z.string().min(1).optional() }),
  answer: z.strictObject({ id: z.string() }),
  present: (deleted: { id: string }) => deleted,
} as const;
async function removeChannel(call: Call<'channels', z.output<typeof deletion.body>>, id: string | undefined) {
  const { rooms, actors, principal, body } = call;
  if (id === undefined || (body.id !== undefined && body.id !== id))
    throw new AppError('validation_failed', 'id: is needed', {
      errors: [{ field: 'id', message: 'id: is needed', rule: 'required' }],
    });
  if (await rooms.channels.dropChoice(principal, id)) return { id };
  await rooms.channels.get(principal.orgId, id);
  await channelOf(actors, principal.orgId, id).remove({ by: auditActor(call) });
  return { id };
}

export default [
  ...plugRoutes,
  ...calendarRoutes,
  ...connectRoutes,
  route({
    method: 'get',
    path: '/integrations',
    summary: 'List networks that can be connected',
    auth: ['session'],
    permission: 'channels:read',
    answer: z.strictObject({ social: z.array(Network), article: z.array(Network) }),
    handle: ({ rooms, principal }) => rooms.channels.networks(principal.orgId),
    present: (adapters) => ({ social: adapters.map(presentNetwork), article: [] }),
  }),
  route({
    method: 'get',
    path: '/integrations/list',
    summary: 'List channels',
    description: 'With `inBetweenSteps`, the login of the caller whose page is still to be chosen.',
    auth: ['session'],
    permission: 'channels:read',
    answer: z.strictObject({ integrations: z.array(Channel) }),
    handle: ({ rooms, principal }) => rooms.channels.listWithChoices(principal),
    present: (channels) => ({ integrations: channels.map(presentChannel) }),
  }),
  route({
    method: 'get',
    path: '/integrations/customers',
    summary: 'List channel groups',
    auth: ['session'],
    permission: 'channels:read',
    answer: z.array(Group),
    revision: () => '',
    handle: ({ rooms, principal }) => rooms.channels.customers(principal.orgId),
    present: (groups) => [...groups],
  }),
  route({
    method: 'get',
    path: '/integrations/:id',
    summary: 'Get a channel',
    auth: ['session'],
    permission: 'channels:read',
    answer: Channel,
    handle: ({ rooms, principal, params }) => rooms.channels.getWithChoices(principal, params.id),
    present: presentChannel,
  }),
  route({
    method: 'post',
    path: '/integrations/function',
    summary: 'Request data from the network of a channel',
    description:
      'By a method that the network declares (`GET /public/v1/integration-settings/:id`). `pages` lists the pages of a login with `inBetweenSteps`.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'channels:read',
    body: Question,
    answer: z.unknown(),
    async handle({ rooms, principal, body: { id, name, data = {} } }) {
      if (name === 'pages') return (await rooms.channels.pages(principal, id)).map(presentPage);
      return rooms.channels.callTool(principal.orgId, id, name, data);
    },
    present: (answer) => answer,
  }),
  route({
    method: 'post',
    path: '/integrations/mentions',
    summary: 'Find people to mention',
    description: 'At the network of a channel, by `data.query`; `name` is ignored.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'channels:read',
    body: Question.partial({ name: true }),
    answer: z.array(Mention),
    handle: ({ rooms, principal, body: { id, data = {} } }) => rooms.channels.findMentions(principal.orgId, id, data),
    present: (found) => found.map(presentMention),
  }),
  move('enable'),
  move('disable'),
  route({ ...deletion, path: '/integrations', handle: (call) => removeChannel(call, call.body.id) }),
  route({ ...deletion, path: '/integrations/:id', handle: (call) => removeChannel(call, call.params.id) }),
  route({
    method: 'post',
    path: '/integrations/:id/time',
    summary: 'Set the posting times of a channel',
    description: 'Times of day, in minutes after midnight.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'channels:update',
    body: z.strictObject({ time: z.array(z.strictObject({ time: z.int().min(0).max(1_439) })).max(1_440) }),
    answer: z.strictObject({ id: z.string(), postingTimes: z.array(z.strictObject({ time: z.int() })) }),
    async handle({ rooms, principal, params, body }) {
      await rooms.channels.setTimes(
        principal.orgId,
        params.id,
        body.time.map(({ time }) => time),
      );
      return rooms.channels.get(principal.orgId, params.id);
    },
    present: ({ id, postingTimes }) => ({ id, postingTimes: postingTimes.map((time) => ({ time })) }),
  }),
  route({
    method: 'put',
    path: '/integrations/:id/customer-name',
    summary: 'Move a channel to a group by name',
    description: 'A group of a new name is created.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'channels:update',
    body: z.strictObject({ name: named(255) }),
    answer: Success,
    handle: ({ rooms, principal, params, body }) => rooms.channels.nameCustomer(principal.orgId, params.id, body.name),
    present: success,
  }),
  route({
    method: 'put',
    path: '/integrations/:id/group',
    summary: 'Move a channel to a group',
    description: '`null` or an empty text takes it out of its group.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'channels:update',
    body: z.strictObject({ group: z.string().max(255).nullable() }),
    answer: Success,
    handle: ({ rooms, principal, params, body }) =>
      rooms.channels.setCustomer(principal.orgId, params.id, body.group || null),
    present: success,
  }),
  route({
    method: 'post',
    path: '/integrations/:id/settings',
    summary: 'Set the network settings of a channel',
    description:
      'As JSON text. `syncComments` says whether comments below posts of the channel are read; a network where that costs is not read without it.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'channels:update',
    body: z.strictObject({ additionalSettings: z.string().max(65_536) }),
    answer: Success,
    handle: ({ rooms, principal, params, body }) =>
      rooms.channels.setAdditional(principal.orgId, params.id, body.additionalSettings),
    present: success,
  }),
  route({
    method: 'post',
    path: '/integrations/:id/nickname',
    summary: 'Change the shown name and picture of a channel',
    description: 'Without `picture` the picture stays; with null there is none.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'channels:update',
    body: z.strictObject({
      name: named(255),
      picture: z
        .url({ protocol: /^https?$/ })
        .max(2_048)
        .nullable()
        .optional(),
    }),
    answer: Success,
    handle: ({ rooms, principal, params, body: { name, picture } }) =>
      rooms.channels.setShown(principal.orgId, params.id, { name, picture }),
    present: success,
  }),
  route({
    method: 'get',
    path: '/integrations/:id/upgrade',
    summary: 'Get the network version of a channel',
    description: '`upgradeAvailable` is the newest version that it is not on yet.',
    auth: ['session'],
    permission: 'channels:read',
    answer: Version,
    handle: ({ rooms, principal, params }) => rooms.channels.findUpgrade(principal.orgId, params.id),
    present: (version) => version,
  }),
  route({
    method: 'post',
    path: '/integrations/:id/upgrade',
    summary: 'Move a channel to another version',
    description: 'Of its network. Its settings and its login must be good there.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'channels:update',
    body: z.strictObject({ version: z.string().min(1).max(64), allowPreview: z.boolean().optional() }),
    answer: Channel,
    async handle({ rooms, principal, params, body, request }) {
      await rooms.channels.upgrade(principal.orgId, params.id, body, auditActor({ principal, request }));
      return rooms.channels.get(principal.orgId, params.id);
    },
    present: presentChannel,
  }),

  route({
    method: 'put',
    path: '/integrations/:id/egress',
    summary: 'Choose the egress route of a channel',
    description: '`org` for that of the organization, `open`, or the id of a route.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'channels:update',
    body: EgressChoice,
    answer: Success,
    handle: (call) =>
      call.rooms.egress.chooseForChannel(
        call.principal.orgId,
        call.params.id,
        choiceOf(call.body.route),
        auditActor(call),
      ),
    present: () => ({ success: true as const }),
  }),
];
