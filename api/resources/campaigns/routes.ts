import { z } from 'zod';
import { invalidField } from '../../../src/platform/kernel/index.ts';
import { keptAnswer } from '../../http/idempotency.ts';
import { ownOnly } from '../../http/own.ts';
import { routesOf } from '../../http/route.ts';
import { ListPage, pageShape } from '../../http/fields.ts';
import { Campaign, CampaignChange, NewCampaign, presentCampaign } from './shape.ts';

const route = routesOf('posts');

/** A new campaign is either named, or made of a tag. */
function tagOf({ name, tagId, color }: z.output<typeof NewCampaign>) {
  if (tagId === undefined) {
    if (name === undefined) throw invalidField('name', 'is needed, or a tagId', 'required');
    return { name, color };
  }
  for (const [field, value] of Object.entries({ name, color }))
    if (value !== undefined) throw invalidField(field, 'is that of the tag: leave it out beside tagId', 'conflict');
  return { tagId };
}

export default [
  route({
    method: 'get',
    path: '/campaigns',
    summary: 'List campaigns',
    description: 'The newest first.',
    auth: ['session'],
    permission: 'campaigns:read',
    query: ListPage,
    answer: pageShape(Campaign),
    handle: ({ rooms, principal, query }) => rooms.posts.listCampaigns(principal.orgId, query),
    present: ({ items, nextCursor }) => ({ items: items.map(presentCampaign), nextCursor }),
  }),
  route({
    method: 'post',
    path: '/campaigns',
    summary: 'Create a campaign',
    description:
      'A campaign is a tag with dates: its name is unique among tags, and posts join it by the tag or by `campaignId`. It is deleted some days after `endDate`; its posts stay.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'campaigns:create',
    planLimit: 'campaigns',
    idempotent: true,
    creates: true,
    body: NewCampaign,
    answer: Campaign,
    handle: ({ rooms, principal: { orgId, userId }, body, idempotency }) => {
      const { description, startDate, endDate } = body;
      const campaign = { ...tagOf(body), description, startDate, endDate, createdBy: userId };
      return rooms.posts.createCampaign(orgId, campaign, keptAnswer(idempotency, 201, presentCampaign));
    },
    present: presentCampaign,
  }),
  route({
    method: 'get',
    path: '/campaigns/:id',
    summary: 'Get a campaign',
    auth: ['session'],
    permission: 'campaigns:read',
    answer: Campaign,
    handle: ({ rooms, principal, params: { id } }) => rooms.posts.getCampaign(principal.orgId, id),
    present: presentCampaign,
  }),
  ...(['put', 'patch'] as const).map((method) =>
    route({
      method,
      path: '/campaigns/:id',
      summary: 'Change a campaign',
      description: 'A field that is absent keeps its value; null clears a date.',
      auth: ['session'],
      impersonation: 'allowed',
      permission: 'campaigns:update',
      body: CampaignChange,
      answer: Campaign,
      async handle({ rooms, principal, params: { id }, body }) {
        await ownOnly(principal, () => rooms.posts.findCampaignAuthor(principal.orgId, id));
        return rooms.posts.changeCampaign(principal.orgId, id, body);
      },
      present: presentCampaign,
    }),
  ),
  route({
    method: 'delete',
    path: '/campaigns/:id',
    summary: 'Delete a campaign',
    description: 'Its tag goes with it; its posts stay. 409 while its publishing is paused.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'campaigns:delete',
    answer: z.strictObject({ id: z.string() }),
    async handle({ rooms, principal, params: { id } }) {
      await rooms.posts.removeCampaign(principal.orgId, id);
      return { id };
    },
    present: (removed) => removed,
  }),
];
