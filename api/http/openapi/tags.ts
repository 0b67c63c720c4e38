import type { AnyRoute } from '../route.ts';

/** A chapter of the document; `of` are the first segments of its paths, below `/public/v1` where they are there. */
interface Tag {
  name: string;
  description: string;
  of: readonly string[];
}

const TAGS: readonly Tag[] = [
  {
    name: 'Posts',
    description:
      'A post goes to one channel at one time. It is created as a draft or scheduled, may be a thread, and is published ' +
      'once: where the answer of a network is lost, it is looked up there before anything is sent again. The timeline ' +
      'of a post says what happened to it, and why.',
    of: ['posts', 'find-slot', 'tags'],
  },
  {
    name: 'Channels',
    description:
      'A channel is an account at a network, connected by a person. Its rules say what a post may hold, and its methods ' +
      'list what a post can name, such as boards or playlists.',
    of: ['integrations', 'integration-settings', 'integration-trigger', 'groups', 'social', 'channels'],
  },
  {
    name: 'Media',
    description:
      'Files of the library: uploaded, fetched from an address, taken from a stock source or made by a provider. A post ' +
      'names them by their id or their path.',
    of: ['media', 'files', 'upload', 'upload-from-url', 'uploads', 'generate-video', 'video'],
  },
  {
    name: 'Webhooks',
    description:
      'Addresses that are told what happens. A delivery is signed over its exact bytes, is attempted three times, and ' +
      'carries an id by which a receiver finds doubles.',
    of: ['webhooks'],
  },
  {
    name: 'Notifications',
    description:
      'What people are told, in the application, by mail and on their devices, and what they want to be told.',
    of: ['notifications', 'stream', 'push'],
  },
  {
    name: 'Analytics',
    description: 'Figures of channels and posts, from snapshots that are taken once a day.',
    of: ['analytics', 'streaks', 'competitors'],
  },
  {
    name: 'Comments',
    description: 'Comments on published posts, read from the networks, and answers to them.',
    of: ['comments', 'inbox'],
  },
  {
    name: 'Campaigns',
    description: 'Posts that belong together, with the brand kits that they are made with.',
    of: ['campaigns', 'brand-kits'],
  },
  {
    name: 'Account',
    description: 'The person behind a credential: profile, sessions, API keys and approved apps.',
    of: ['me', 'is-connected', 'user', 'users', 'auth', 'orgs', 'data-export'],
  },
  {
    name: 'Organization',
    description: 'Members, roles and settings of an organization, which is the tenant: a request acts for one.',
    of: ['members', 'roles', 'settings', 'providers', 'egress'],
  },
  {
    name: 'Billing',
    description: 'Plans, add-ons and payments. A limit of a plan is refused with 402, which names the limit.',
    of: ['billing', 'payments'],
  },
  {
    name: 'Studio',
    description: 'Texts by language models, within the budget of the organization.',
    of: ['ai'],
  },
  {
    name: 'Agents',
    description: 'The endpoints of the Model Context Protocol, and proposals of agents that people accept.',
    of: ['mcp', 'media-mcp', 'sse', 'message', 'proposals', 'collaboration'],
  },
  {
    name: 'OAuth',
    description: 'Authorization of apps and devices by RFC 6749, 7591, 7009 and 8628, and its discovery.',
    of: ['oauth', 'device', '.well-known'],
  },
  {
    name: 'Administration',
    description: 'The instance as a whole, for super-admins.',
    of: ['admin'],
  },
  {
    name: 'Service',
    description: 'Health, metrics, and the description of the API itself.',
    of: ['health', 'metrics', 'openapi.json', 'reference', 'sandbox'],
  },
];

const segmentOf = ({ path }: Pick<AnyRoute, 'path'>): string => {
  const [first = '', second = '', third = ''] = path.split('/').slice(1);
  return first === 'public' && second === 'v1' ? third : first;
};

/** The name of the tag of a route; its first segment where no tag has it. */
export const tagOf = (route: Pick<AnyRoute, 'path'>): string => {
  const segment = segmentOf(route);
  return TAGS.find(({ of }) => of.includes(segment))?.name ?? segment;
};

/** The tags with these names as the document describes them, in its order. */
export const describeTags = (names: ReadonlySet<string>): { name: string; description: string }[] =>
  TAGS.filter(({ name }) => names.has(name)).map(({ name, description }) => ({ name, description }));
