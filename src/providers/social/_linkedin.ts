import { z } from 'zod';
import type { ProviderFailure } from '../../platform/kernel/index.ts';
import { singleLine } from '../kit/declare/setting-texts.ts';
import type { Quota } from '../kit/declare/waits.ts';
import { clientApp } from '../kit/protocols/oauth.ts';
import type { Http } from '../kit/wire/http.ts';
import { WITHOUT_FILES } from './_bounds.ts';
import type { Limits, Mention } from './_contract.ts';

/**
 * The month of the API. LinkedIn keeps each for a year at least (learn.microsoft.com/linkedin/marketing/versioning); after
 * its end every call is refused with 426.
 */
const VERSION = '202604';
const UPLOADS = 'https://www.linkedin.com';

const SCOPES = [
  'openid',
  'profile',
  'w_member_social',
  'r_basicprofile',
  'rw_organization_admin',
  'w_organization_social',
  'r_organization_social',
] as const;

const limits: Limits = {
  text: 3_000,
  unit: 'characters',
  media: 20,
  mediaTypes: ['image/jpeg', 'image/png', 'image/gif', 'video/mp4', 'application/pdf'],
  oneKind: true,
  image: { count: 20, bytes: 5_000_000 },
  video: { count: 1, bytes: 500_000_000, seconds: [3, 1_800], ratio: [0.417, 2.4] },
  document: { count: 1, bytes: 100_000_000 },
};

/** What members and pages declare alike. */
export const LINKEDIN = {
  version: 'v1',
  status: 'active',
  website: 'https://www.linkedin.com',
  authType: 'oauth2',
  credentials: {},
  app: clientApp,
  api: 'https://api.linkedin.com',
  hosts: { uploads: UPLOADS },
  auth: [
    { in: 'token' },
    { in: 'header', name: 'linkedin-version', text: VERSION },
    { in: 'header', name: 'x-restli-protocol-version', text: '2.0.0' },
    { in: 'header', host: 'uploads', name: 'authorization', prefix: 'Bearer ', token: true },
  ],
  errorOf: z
    .object({ message: z.string().regex(/Unable to obtain activity/i) })
    .transform((): ProviderFailure => 'unavailable'),
  // limits of the member and of the app for a day
  quotaOf: z
    .object({ message: z.string().regex(/resource level throttle/i) })
    .transform((): Quota => ({ midnight: 'UTC' })),
  threads: 'comment',
  pace: [{ per: 'account', posts: 150, ms: 86_400_000, of: 'posts' }],
  limits,
  releaseIds: {
    form: /^urn:li:\w{1,50}:(?:[\w-]{1,100}|\([\w:,-]{1,200}\))$/,
    words: 'the URN of the post, such as urn:li:share:12',
  },
} as const;

export const COMMENT_LIMITS = { text: 1_250, ...WITHOUT_FILES };

export const Settings = z.looseObject({
  post_as_images_carousel: z.boolean().optional(),
  carousel_name: singleLine(400).optional(),
});

/** Consent. Both networks ask for the same scopes: LinkedIn ends earlier tokens of a person when others are asked for. */
export const linkedinLogin = (asks: Readonly<Record<string, string>> = {}) => ({
  kind: 'oauth2' as const,
  authorize: 'https://www.linkedin.com/oauth/v2/authorization',
  token: 'https://www.linkedin.com/oauth/v2/accessToken',
  scopes: SCOPES,
  asks,
  revoke: { at: 'https://www.linkedin.com/oauth/v2/revoke' },
});

/** A URN as a part of a path or list: its parentheses are encoded, too. */
export const encodedUrn = (urn: string): string =>
  encodeURIComponent(urn).replaceAll('(', '%28').replaceAll(')', '%29');
export const addressOf = (urn: string): string => `https://www.linkedin.com/feed/update/${urn}`;

const ENTITY = /^urn:li:(?:organization|person):[\w-]+$/;
/** What has a meaning in the "little" text format of posts. */
const RESERVED = /[\\|{}@[\]()<>#*_~]/g;
const PARTS =
  /(@\[(?:\\.|[^\]\\])+\]\(urn:li:(?:organization|person):[\w-]+\))|(?<![\p{L}\p{N}_&/])#([\p{L}\p{N}_]*[\p{L}_][\p{L}\p{N}_]*)|[\\|{}@[\]()<>#*_~]/gu;
const escaped = (text: string): string => text.replace(RESERVED, '\\$&');

export const mention = ({ id, label }: Pick<Mention, 'id' | 'label'>): string | undefined =>
  ENTITY.test(id) ? `@[${escaped(label)}](${id})` : undefined;

/** A text in the format of posts; mentions stand in it already. */
export const commentaryOf = (text: string): string =>
  text.replace(PARTS, (found: string, entity?: string, tag?: string) => {
    if (entity !== undefined) return entity;
    return tag === undefined ? `\\${found}` : `{hashtag|#|${escaped(tag)}}`;
  });

const shown = (commentary: string): string =>
  commentary
    .replace(/\{hashtag\|\\?#\|((?:\\?[\p{L}\p{N}_])*)\}/gu, '#$1')
    .replace(/@\[((?:\\.|[^[\]\\])+)\]\([^()]*\)/g, '$1')
    .replace(/\\(.)/gs, '$1')
    .replace(/\s+/g, ' ')
    .trim();
/** Answers whether two commentaries show the same, however LinkedIn has written them. */
export const sameCommentary = (a: string, b: string): boolean => shown(a) === shown(b);

const Organizations = z.object({
  elements: z.array(z.object({ id: z.number(), localizedName: z.string(), vanityName: z.string().nullish() })),
});
/** Finds the company whose public name (the last part of its address) this is: LinkedIn offers no other search. */
export async function companies(http: Http, vanityName: string): Promise<Mention[]> {
  const { elements } = await http.get('/v2/organizations', Organizations, { query: { q: 'vanityName', vanityName } });
  return elements.map(({ id, localizedName }) => ({ id: `urn:li:organization:${id}`, label: localizedName }));
}

const Member = z.object({ sub: z.string(), name: z.string().nullish(), picture: z.url().nullish() });
/** The connected person, without the public name. */
export async function readMember(http: Http) {
  const { sub: id, name, picture } = await http.get('/v2/userinfo', Member);
  return { id, name: name || id, handle: '', picture };
}
