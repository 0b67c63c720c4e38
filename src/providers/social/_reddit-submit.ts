import { z } from 'zod';
import { TIMEOUT_MS } from '../kit/declare/adapter.ts';
import { refused, refusedRepeat } from '../kit/declare/fallback.ts';
import type { SentFile } from '../kit/declare/media.ts';
import { networkId, singleLine } from '../kit/declare/setting-texts.ts';
import { uploadWhole } from '../kit/protocols/upload/parts.ts';
import type { Http } from '../kit/wire/http.ts';
import { Canonical } from './_articles.ts';
import type { Post, Published, Repost, SocialLine } from './_contract.ts';
import { fitted, fittedCover } from './_files.ts';

export const SITE = 'https://www.reddit.com';
const PICTURE_TYPES = ['image/jpeg', 'image/png', 'image/gif'];
export const PICTURE_BYTES = 20_000_000;
/** Reddit's name of the picture that it shows for a video. */
const THUMBNAIL_URL = 'video_poster_url';

const Target = z
  .looseObject({
    subreddit: z
      .string()
      .regex(/^\/?(?:r\/)?\w{2,30}\/?$/)
      .transform((name) => name.replace(/^\/?(?:r\/)?|\/$/g, '')),
    title: singleLine(300, 1),
    type: z.enum(['self', 'link', 'media']).optional(),
    url: Canonical,
    is_flair_required: z.boolean().optional(),
    flair: z.looseObject({ id: networkId(36, 0), name: singleLine(64).optional() }).nullish(),
  })
  .refine(({ type, url }) => type !== 'link' || url, { path: ['url'], message: 'a link post needs an address' })
  .refine(({ is_flair_required: needed, flair }) => !needed || flair?.id, {
    path: ['flair'],
    message: 'the subreddit asks for a flair',
  });
type Target = z.output<typeof Target>;
/** One submission is one post: its answer names one id. */
export const Settings = z.looseObject({
  subreddit: z.tuple([z.looseObject({ value: Target })], 'name one subreddit: each post goes to one'),
});
export type Settings = z.output<typeof Settings>;

/** The files that the store of Reddit has, and when the post was sent, which is told no id. */
export const Saved = z
  .object({ assets: z.array(z.object({ id: z.string(), url: z.string() })), sentAt: z.coerce.date().optional() })
  .catch({ assets: [] });
type Asset = z.output<typeof Saved>['assets'][number];

const Fault = z.tuple([z.string(), z.string().nullish()]).rest(z.unknown());
const Refused = z.object({
  json: z.object({ errors: z.tuple([Fault]).rest(Fault), ratelimit: z.number().nullish() }),
});
/** An answer with status 200, which may hold refusals. */
export const answerOf = <S extends z.ZodType>(data: S) => z.union([Refused, z.object({ json: z.object({ data }) })]);
type Answered<D> = z.output<typeof Refused> | { json: { data: D } };
export function dataOf<D>({ json }: Answered<D>): D {
  if ('data' in json) return json.data;
  const [[code, words]] = json.errors;
  const told = `Reddit refused (${code}): ${words ?? ''}`;
  if (code === 'ALREADY_SUB') throw refusedRepeat(told);
  const failure = code === 'RATELIMIT' ? 'rate_limited' : code === 'USER_REQUIRED' ? 'reauthorize' : 'rejected';
  throw refused(failure, told, json.ratelimit ? json.ratelimit * 1_000 : undefined);
}

const Lease = z.object({
  args: z.object({
    action: z.string().regex(/^\/\/[\w.-]+/),
    fields: z.array(z.object({ name: z.string(), value: z.string() })),
  }),
  asset: z.object({ asset_id: z.string() }),
});
const Submitted = z.object({ id: z.string().optional(), name: z.string().optional(), url: z.string().nullish() });
const Answer = answerOf(Submitted);

/** Each post is of one type; without one its files and its address tell. */
const typeOf = ({ type, url }: Target, { media }: Pick<Post, 'media'>) =>
  type ?? (media.length > 0 ? 'media' : url ? 'link' : 'self');

/** The files to upload: those of the post, and the thumbnail of a video. */
export async function filesOf({ media }: Post): Promise<SentFile[]> {
  const [video] = media.filter(({ kind }) => kind === 'video');
  const rules = { maxBytes: PICTURE_BYTES, types: PICTURE_TYPES };
  if (!video) return Promise.all(media.map((item) => fitted(item, rules)));
  return [video, (await fittedCover(video, rules))!]; // `thumbnail` of the limits
}

/** Puts a file into the store of Reddit. */
export async function upload({ http, clock }: Pick<SocialLine, 'http' | 'clock'>, file: SentFile): Promise<Asset> {
  const { args, asset } = await http.post('/api/media/asset.json', Lease, {
    form: { filepath: file.name, mimetype: file.contentType },
  });
  const fields = Object.fromEntries(args.fields.map(({ name, value }) => [name, value]));
  const path = `https:${args.action}`;
  const form = { method: 'post', path, fields, field: 'file' } as const;
  await uploadWhole({ http, clock, timeoutMs: TIMEOUT_MS }, form, file, z.unknown());
  return { id: asset.asset_id, url: `${path}/${fields['key']}` };
}

/** Submits a post; a picture or a video is answered without an id: undefined. */
export async function submit(
  http: Http,
  { post, target, assets }: { post: Post; target: Target; assets: readonly Asset[] },
): Promise<Published | undefined> {
  const { subreddit: sr, title, url, flair } = target;
  const [first, thumbnail] = assets;
  const common = {
    api_type: 'json',
    sr,
    title,
    ...(post.text !== '' && { text: post.text }),
    ...(flair?.id && { flair_id: flair.id, flair_text: flair.name ?? '' }),
  };
  const type = typeOf(target, post);
  const isVideo = post.media[0]?.kind === 'video';
  const kinds = {
    self: { kind: 'self' },
    link: { kind: 'link', url },
    media: isVideo
      ? { kind: 'video', url: first?.url, [THUMBNAIL_URL]: thumbnail?.url }
      : { kind: 'image', url: first?.url },
  };
  const items = assets.map(({ id }) => ({ media_id: id, caption: '', outbound_url: '' }));
  const answer =
    type === 'media' && !isVideo && items.length > 1
      ? await http.post('/api/submit_gallery_post.json', Answer, {
          json: { ...common, sendreplies: true, items },
          creates: true,
        })
      : await http.post('/api/submit', Answer, {
          form: { ...common, ...kinds[type], sendreplies: 'true', resubmit: 'true' },
          creates: true,
        });
  return madeOf(answer);
}

function madeOf(answer: z.output<typeof Answer>): Published | undefined {
  const made = dataOf(answer);
  const id = made.name ?? made.id;
  return id === undefined ? undefined : { id: `t3_${id.replace(/^t3_/, '')}`, url: made.url ?? '' };
}

/** Where a post is repeated, and under which title. */
export const targetOf = ({ fields = {} }: Repost) => ({
  subreddit: fields['subreddit'] ?? '',
  title: (fields['title'] ?? '').trim(),
});
/** Repeats a post of Reddit in a subreddit. */
export async function crosspost(http: Http, repost: Repost): Promise<Published> {
  const { subreddit: sr, title } = targetOf(repost);
  const kind = { kind: 'crosspost', crosspost_fullname: repost.published.id };
  const form = { api_type: 'json', sr, title, ...kind, sendreplies: 'true', resubmit: 'true' };
  const made = madeOf(await http.post('/api/submit', Answer, { form, creates: true }));
  if (!made) throw refused('lost', 'Reddit told no id of the crosspost');
  return made;
}
