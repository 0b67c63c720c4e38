import type { Context } from '../../src/context.ts';
import type { RoomKind, RoomName } from './address.ts';
import { designerSource } from './designer-source.ts';
import { brandKitSource, campaignSource } from './fields-source.ts';
import { groupSource } from './group-source.ts';
import { postSource, type Source, unlessGone } from './source.ts';

// Everything in which rooms differ: whose permissions count, whose work it is, and what they are made of and saved to.

type Needs = Pick<Context, 'posts' | 'brandKits' | 'designer'>;

interface Kind {
  /** Its permission `read` opens the room, `update` writes it. */
  resource: 'posts' | 'campaigns' | 'brand_kits' | 'ai';
  /** Who made what the room stands for; null: nobody, or not one person, undefined: it is not there. */
  findAuthor(rooms: Needs, orgId: string, id: string): Promise<string | null | undefined>;
  source(rooms: Needs & Pick<Context, 'actors'>, orgId: string, id: string): Source;
}

const KINDS: Readonly<Record<RoomKind, Kind>> = {
  post: {
    resource: 'posts',
    findAuthor: ({ posts }, orgId, id) => posts.findAuthor(orgId, id),
    source: postSource,
  },
  group: {
    resource: 'posts',
    findAuthor: ({ posts }, orgId, id) => posts.findGroupAuthor(orgId, id),
    source: groupSource,
  },
  campaign: {
    resource: 'campaigns',
    findAuthor: ({ posts }, orgId, id) => posts.findCampaignAuthor(orgId, id),
    source: campaignSource,
  },
  'brand-kit': {
    resource: 'brand_kits',
    findAuthor: ({ brandKits }, orgId, id) => unlessGone(brandKits.getBrandKit(orgId, id).then(() => null)),
    source: brandKitSource,
  },
  designer: {
    resource: 'ai',
    findAuthor: async ({ designer }, orgId, id) => (await designer.findSessionPlan({ orgId, id }))?.userId,
    source: designerSource,
  },
};

/** The resource whose permissions a room asks for. */
export const resourceOf = ({ kind }: Pick<RoomName, 'kind'>): Kind['resource'] => KINDS[kind].resource;

/** Who made what a room stands for; null: nobody, or not one person, undefined: it is not there. */
export const authorOfRoom = (rooms: Needs, orgId: string, { kind, id }: RoomName): Promise<string | null | undefined> =>
  KINDS[kind].findAuthor(rooms, orgId, id);

/** What a room is made of and saved to. */
export const sourceOf = (rooms: Needs & Pick<Context, 'actors'>, orgId: string, { kind, id }: RoomName): Source =>
  KINDS[kind].source(rooms, orgId, id);
