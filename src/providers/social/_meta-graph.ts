import { z } from 'zod';
import type { ProviderFailure } from '../../platform/kernel/index.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Counts, Media, Metric, Series, SocialSpec } from './_contract.ts';
import { allPages } from './_lists.ts';

// What the Graph API is for Facebook, Instagram and Threads.

const VERSION = 'v25.0';
export const GRAPH = `https://graph.facebook.com/${VERSION}`;
export const UPLOADS = `https://rupload.facebook.com/video-upload/${VERSION}`;
export const VIDEOS = `https://graph-video.facebook.com/${VERSION}`;

const failures = (failure: ProviderFailure, codes: readonly number[]) => codes.map((code) => [code, failure] as const);
/** https://developers.facebook.com/docs/graph-api/guides/error-handling; each product has its page of subcodes. */
const CODES = new Map<number, ProviderFailure>([
  ...failures('reauthorize', [102, 190]),
  ...failures('rate_limited', [4, 9, 17, 32, 341, 613, ...Array.from({ length: 15 }, (_, n) => 80_000 + n)]),
  ...failures('unavailable', [1, 2]),
]);
const SUBCODES = new Map<number, ProviderFailure>([
  ...failures('reauthorize', [490, 1_404_078]),
  ...failures('rate_limited', [1_390_008, 2_207_042]),
  ...failures('rejected', [2_207_050, 2_207_051]), // an account that is restricted, though its code is that of a rate
  ...failures('lost', [2_207_001, 2_207_032]), // a fault inside of Instagram, which may come after the container is out
  // a chunk of a video, or a file that Meta could not fetch: another try may work
  ...failures('unavailable', [1_363_019, 1_363_021, 1_363_030, 1_363_033, 1_363_041, 1_363_047, 1_609_010, 4_279_013]),
  ...failures('unavailable', [2_207_003, 2_207_008, 2_207_020, 2_207_027, 2_207_052, 2_207_053, 2_207_077, 2_207_082]),
]);
/** The subcode that the words of a container name, such as `Error: 2207052`. */
export const codeInWords = (words: string): string | undefined => /\b\d{7}\b/.exec(words)?.[0];
/** The failure of that subcode. */
export const failureInWords = (words: string): ProviderFailure | undefined => {
  const failure = SUBCODES.get(Number(codeInWords(words) ?? 0));
  return failure === 'lost' ? 'unavailable' : failure; // a container that failed is not public
};
const Refusal = z.object({
  status: z.number(),
  error: z.object({
    code: z.number(),
    error_subcode: z.number().nullish(),
    is_transient: z.boolean().nullish(),
  }),
});
const told = z.custom<ProviderFailure>((value) => value !== undefined);

/** The failure inside an error of the Graph API. With 5xx nobody knows what was done: that is left to the status. */
export const graphFailure: z.ZodType<ProviderFailure> = Refusal.transform(
  ({ status, error: { code, error_subcode: subcode, is_transient } }) => {
    const failure = SUBCODES.get(subcode ?? 0) ?? CODES.get(code) ?? (is_transient ? 'unavailable' : undefined);
    return failure === 'unavailable' && status >= 500 ? undefined : failure;
  },
).pipe(told);
/** A text, or photos, that the page posted before. */
export const graphDuplicate = z.object({
  error: z.union([z.object({ code: z.literal(506) }), z.object({ error_subcode: z.literal(1_366_051) })]),
});
/**
 * The same of Instagram, where the account may be no business account any more. That is known by the words: subcode 33
 * alone says of a deleted post or comment as well that it is gone.
 */
export const instagramFailure: z.ZodType<ProviderFailure> = z.union([
  z
    .object({ error: z.object({ message: z.string().regex(/not an Instagram Business/i) }) })
    .transform((): ProviderFailure => 'reauthorize'),
  graphFailure,
]);
/** The same of a token endpoint, which refuses a code that was used (100), and speaks in another way at Instagram. */
const tokenFailure: z.ZodType<ProviderFailure> = z.union([
  graphFailure,
  z
    .union([
      z.object({ error: z.object({ code: z.literal(100) }) }),
      z.object({ error_type: z.literal('OAuthException') }),
    ])
    .transform((): ProviderFailure => 'reauthorize'),
]);
/** A node that does not exist any more, or that this login may not see. */
export const Gone = z.object({ error: z.object({ code: z.literal(100), error_subcode: z.literal(33) }) });

type Login = Extract<SocialSpec<object & Record<string, never>, z.ZodType>['login'], { kind: 'oauth2' }>;
/** Facebook Login. A revocation would end every login of the person at this app, so there is none. */
export const facebookLogin = (scopes: readonly string[]) =>
  ({
    kind: 'oauth2',
    authorize: `https://www.facebook.com/${VERSION}/dialog/oauth`,
    token: '/oauth/access_token',
    scopes,
    asks: { auth_type: 'rerequest' }, // asks again for what the person has refused before
    exchangeBy: 'GET',
    longLived: { at: '/oauth/access_token', grant: 'fb_exchange_token', tokenName: 'fb_exchange_token', withId: true },
    renewal: 'none',
    permissionsAt: '/me/permissions',
    refusal: tokenFailure,
  }) as const satisfies Login;

/** The login of Instagram and of Threads: a token of 60 days that renews itself. */
export const longLogin = (
  of: Pick<Login, 'authorize' | 'token' | 'scopes' | 'asks'>,
  api: string,
  prefix: 'ig' | 'th',
) =>
  ({
    kind: 'oauth2',
    ...of,
    scopeSeparator: ',',
    longLived: { at: `${api}/access_token`, grant: `${prefix}_exchange_token`, tokenName: 'access_token' },
    renewal: { at: `${api}/refresh_access_token`, grant: `${prefix}_refresh_token` },
    refusal: tokenFailure,
  }) as const satisfies Login;

const ALT_CHARACTERS = 1_000;
/** The alternative text of a file as Instagram and Threads take it. */
export const altOf = ({ alt }: Pick<Media, 'alt'>): string | undefined =>
  Array.from(alt).slice(0, ALT_CHARACTERS).join('') || undefined;

export const Id = z.object({ id: z.string() });
/** An entry of a list, and where the next page begins. */
export const listOf = <S extends z.ZodType>(item: S) =>
  z
    .object({
      data: z.array(item),
      paging: z.object({ cursors: z.object({ after: z.string() }).nullish(), next: z.string().nullish() }).nullish(),
    })
    .transform(({ data, paging }) => ({ data, next: paging?.next ? paging.cursors?.after : undefined }));

const MOST_PAGES = 20;
const all = <S extends z.ZodType>(http: Http, path: string, item: S, fields: string): Promise<z.output<S>[]> =>
  allPages(MOST_PAGES, async (after) => {
    const { data: items, next } = await http.get(path, listOf(item), { query: { fields, limit: '100', after } });
    return { items, next };
  });
/** The pages that the person manages, alone and by a business. */
export async function managedPages<S extends typeof Id>(http: Http, page: S, fields: string): Promise<z.output<S>[]> {
  const pages = await all(http, '/me/accounts', page, fields);
  for (const { id } of await all(http, '/me/businesses', Id, 'id'))
    for (const edge of ['owned_pages', 'client_pages'])
      pages.push(...(await all(http, `/${id}/${edge}`, page, fields)));
  return [...new Map(pages.map((one) => [one.id, one])).values()];
}

/** Deletes a node; Meta refuses one that is gone like one that never was. */
export async function removeNode(http: Http, id: string): Promise<void> {
  const there = await http.find(`/${id}`, Id, { query: { fields: 'id' }, absent: Gone });
  if (there) await http.delete(`/${id}`);
}

const count = z.number().optional().catch(undefined);
export const Insights = z.object({
  data: z.array(
    z.object({
      name: z.string(),
      values: z.array(z.object({ value: count, end_time: z.coerce.date().optional() })).default([]),
      total_value: z.object({ value: count }).nullish(),
    }),
  ),
});
type Names = Readonly<Record<string, Metric>>;
/** Counts as they are now. */
export const countsOf = ({ data }: z.output<typeof Insights>, names: Names): Counts =>
  Object.fromEntries(
    data.flatMap(({ name, values, total_value }) => {
      const value = total_value?.value ?? values.at(-1)?.value;
      return names[name] && value !== undefined ? [[names[name], value]] : [];
    }),
  );

const DAY_MS = 86_400_000;
const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);
/** The parameters of the days `from` to `to`. */
export const daysQuery = ({ from, to }: { from: string; to: string }) => ({
  since: from,
  until: dayOf(Date.parse(to) + DAY_MS),
});
/** Counts by day; `end_time` is the end of a day. */
export const seriesOf = (
  { data }: z.output<typeof Insights>,
  names: Names,
  { from, to }: { from: string; to: string },
): Series[] =>
  data.flatMap(({ name, values }) => {
    const points = values.flatMap(({ value, end_time: end }) =>
      value === undefined || !end ? [] : [{ date: dayOf(end.getTime() - DAY_MS), value }],
    );
    const within = points.filter(({ date }) => date >= from && date <= to);
    return names[name] && within.length > 0 ? [{ metric: names[name], points: within }] : [];
  });
