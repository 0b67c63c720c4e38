import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Operations } from './_contract.ts';
import { reportByDay } from './_gmb-report.ts';
import { allPages } from './_lists.ts';
import { chosenPage, keepPage } from './_pages.ts';

export const HOSTS = {
  accounts: 'https://mybusinessaccountmanagement.googleapis.com/v1',
  locations: 'https://mybusinessbusinessinformation.googleapis.com/v1',
  performance: 'https://businessprofileperformance.googleapis.com/v1',
  people: 'https://www.googleapis.com',
};
const PAGE = '100';
/** Number of pages: of accounts with 20 each, and of the locations of an account. */
const MOST_PAGES = 50;

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
export const locationOf = (values: object): string => {
  const location = chosenPage(values, 'location');
  if (location === undefined) throw refused('rejected', 'No location was chosen');
  return location;
};
/** `accounts/1/locations/2` is `locations/2` to the APIs of version 1. */
const shortName = (location: string): string => location.slice(location.indexOf('locations/'));

async function locationsOf(http: Http, account: string) {
  const all = await allPages(MOST_PAGES, async (pageToken) => {
    const query = { readMask: 'name,title,storefrontAddress', pageSize: PAGE, pageToken };
    const { locations: items, nextPageToken: next } = await http.get(
      `${HOSTS.locations}/${account}/locations`,
      Locations,
      { query },
    );
    return { items, next };
  });
  return all.map(({ name, title, storefrontAddress }) => ({
    id: `${account}/${name}`,
    name: title,
    handle: [...(storefrontAddress?.addressLines ?? []), storefrontAddress?.locality ?? ''].filter(Boolean).join(', '),
  }));
}

/** The locations of the accounts of the person. */
export const gmbLocations = {
  async profile({ http, values }) {
    const chosen = chosenPage(values, 'location');
    if (chosen === undefined) {
      const { id, name, email } = await http.get(`${HOSTS.people}/oauth2/v2/userinfo`, User);
      return { id, name: name || email || id, handle: email ?? '' };
    }
    const query = { readMask: 'name,title,storefrontAddress' };
    const { title, storefrontAddress } = await http.get(`${HOSTS.locations}/${shortName(chosen)}`, Location, { query });
    return { id: chosen, name: title, handle: storefrontAddress?.locality ?? '' };
  },
  async pages({ http }) {
    const accounts = await allPages(MOST_PAGES, async (pageToken) => {
      const page = await http.get(`${HOSTS.accounts}/accounts`, Accounts, { query: { pageToken } });
      return { items: page.accounts, next: page.nextPageToken };
    });
    const pages = [];
    for (const { name } of accounts) pages.push(...(await locationsOf(http, name)));
    return pages;
  },
  choose: keepPage('location'),
  channelMetrics: ({ http, values, ...days }) =>
    reportByDay(http, `${HOSTS.performance}/${shortName(locationOf(values))}`, days),
} satisfies Operations;
