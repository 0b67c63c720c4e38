import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Values } from '../kit/declare/fields.ts';
import type { Http } from '../kit/wire/http.ts';
import { type Published, social } from './_contract.ts';
import { localPost, Settings } from './_gmb-post.ts';
import { reportByDay } from './_gmb-report.ts';
import { googleApp, googleFailure, googleLogin } from './_google.ts';

const HOSTS = {
  accounts: 'https://mybusinessaccountmanagement.googleapis.com/v1',
  locations: 'https://mybusinessbusinessinformation.googleapis.com/v1',
  performance: 'https://businessprofileperformance.googleapis.com/v1',
  people: 'https://www.googleapis.com',
};
const PAGE = 100;

const User = z.object({ id: z.string(), name: z.string().nullish(), email: z.string().nullish() });
const Accounts = z.object({
  accounts: z.array(z.object({ name: z.string() })).default([]),
  nextPageToken: z.string().optional(),
});
const Location = z.object({
  name: z.string(),
  title: z.string(),
  storefrontAddress: z
    .object({ addressLines: z.array(z.string()).default([]), locality: z.string().nullish() })
    .nullish(),
});
const Locations = z.object({ locations: z.array(Location).default([]), nextPageToken: z.string().optional() });
const LocalPost = z.object({
  name: z.string(),
  state: z.string().optional(),
  summary: z.string().optional(),
  searchUrl: z.string().optional(),
  createTime: z.coerce.date().optional(),
  media: z.array(z.unknown()).default([]),
});
const LocalPosts = z.object({ localPosts: z.array(LocalPost).default([]) });
const locationOf = (values: Values): string => {
  const location = values['location'];
  if (location === undefined) throw refused('rejected', 'No location was chosen');
  return location;
};
const published = ({ name, searchUrl }: z.output<typeof LocalPost>): Published => ({ id: name, url: searchUrl ?? '' });

/** https://developers.google.com/my-business/reference/rest/v4/accounts.locations.localPosts */
export default social({
  id: 'gmb',
  version: 'v1',
  status: 'active',
  title: 'Google Business Profile',
  description: 'Updates, events and offers of a business in Google Search and Maps.',
  website: 'https://business.google.com',
  authType: 'oauth2',
  setupNotes:
    'Google grants access to its business APIs for each project on request; until then the quota is 0. Posts with a telephone number in the text are refused.',
  credentials: {},
  app: googleApp,
  api: 'https://mybusiness.googleapis.com/v4',
  hosts: HOSTS,
  auth: [
    { in: 'token' },
    ...Object.keys(HOSTS).map(
      (host) => ({ in: 'header', host, name: 'authorization', prefix: 'Bearer ', token: true }) as const,
    ),
  ],
  errorOf: googleFailure,
  login: googleLogin([
    'https://www.googleapis.com/auth/business.manage',
    'https://www.googleapis.com/auth/userinfo.profile',
    'https://www.googleapis.com/auth/userinfo.email',
  ]),
  once: 'read-back',
  threads: 'none',
  limits: {
    text: 1_500,
    unit: 'characters',
    media: 1,
    mediaTypes: ['image/jpeg', 'image/png'],
    image: { bytes: 5_000_000, side: [250, 10_000] },
    fetches: ['image'],
  },
  settings: Settings,

  async profile({ http, values }) {
    const chosen = values as Values;
    if (chosen['location'] === undefined) {
      const { id, name, email } = await http.get(`${HOSTS.people}/oauth2/v2/userinfo`, User);
      return { id, name: name || email || id, handle: email ?? '' };
    }
    const id = locationOf(chosen);
    const query = { readMask: 'name,title,storefrontAddress' };
    const { title, storefrontAddress } = await http.get(`${HOSTS.locations}/${shortName(id)}`, Location, { query });
    return { id, name: title, handle: storefrontAddress?.locality ?? '' };
  },
  async pages({ http }) {
    const accounts = await http.get(`${HOSTS.accounts}/accounts`, Accounts);
    const lists = await Promise.all(accounts.accounts.map(({ name }) => locationsOf(http, name)));
    return lists.flat();
  },
  choose: async ({ page, tokens }) => ({ ...tokens, values: { ...tokens.values, location: page } }),

  async publish({ http, values, post, settings }) {
    const made = await http.post(`/${locationOf(values)}/localPosts`, LocalPost, {
      json: localPost(post, settings),
      creates: true,
    });
    return published(made);
  },
  async find({ http, values, post, since }) {
    const { localPosts } = await http.get(`/${locationOf(values)}/localPosts`, LocalPosts, {
      query: { pageSize: String(PAGE) },
    });
    return localPosts
      .filter(
        ({ summary, createTime, media }) =>
          createTime !== undefined &&
          createTime >= since &&
          summary === post.text &&
          media.length === post.media.length,
      )
      .map(published);
  },
  remove: ({ http, published: { id } }) => http.delete(`/${id}`),

  channelMetrics: ({ http, values, ...days }) =>
    reportByDay(http, `${HOSTS.performance}/${shortName(locationOf(values))}`, days),
});

/** `accounts/1/locations/2` is `locations/2` to the APIs of version 1. */
const shortName = (location: string): string => location.slice(location.indexOf('locations/'));

async function locationsOf(http: Http, account: string) {
  const { locations } = await http.get(`${HOSTS.locations}/${account}/locations`, Locations, {
    query: { readMask: 'name,title,storefrontAddress', pageSize: String(PAGE) },
  });
  return locations.map(({ name, title, storefrontAddress }) => ({
    id: `${account}/${name}`,
    name: title,
    handle: [...(storefrontAddress?.addressLines ?? []), storefrontAddress?.locality ?? ''].filter(Boolean).join(', '),
  }));
}
