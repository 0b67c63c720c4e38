import { z } from 'zod';
import type { Clock, ProviderFailure } from '../../platform/kernel/index.ts';
import { sameText } from '../kit/protocols/text.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Counts, Polled, PostCounts, Published, Series } from './_contract.ts';
import { seriesOfNow } from './_series.ts';

const CODES: Readonly<Record<string, ProviderFailure>> = {
  access_token_invalid: 'reauthorize',
  access_token_expired: 'reauthorize',
  scope_not_authorized: 'reauthorize',
  scope_permission_missed: 'reauthorize',
  rate_limit_exceeded: 'rate_limited',
  spam_risk_too_many_posts: 'rate_limited',
  spam_risk_too_many_pending_share: 'rate_limited',
  reached_active_user_cap: 'rate_limited',
};
/** The failure of a refusal by its code; others are left to their status. */
export const Failure = z
  .object({ error: z.object({ code: z.string() }) })
  .transform(({ error }) => CODES[error.code])
  .pipe(z.custom<ProviderFailure>((failure) => failure !== undefined));
/** The same inside a 200, where the code of a success is `ok`. */
export const FailureInside = z
  .object({ error: z.object({ code: z.string().refine((code) => code !== 'ok') }) })
  .transform(({ error }): ProviderFailure => CODES[error.code] ?? 'rejected');

export const Status = z.object({
  data: z.object({
    status: z.string(),
    fail_reason: z.string().nullish(),
    // an integer of 64 bits, which is not exact as a number
    publicaly_available_post_id: z.array(z.union([z.string(), z.number()])).nullish(),
    uploaded_bytes: z.number().nullish(),
  }),
});
export const statusCall = (publish_id: string) => ({ path: '/post/publish/status/fetch/', json: { publish_id } });
export const statusOf = async (http: Http, id: string) => {
  const { path, json } = statusCall(id);
  return (await http.post(path, Status, { json })).data;
};

/** Failures after which the same post may succeed: TikTok could not fetch a file, or failed itself. */
const AGAIN = ['video_pull_failed', 'photo_pull_failed', 'internal'];
const POLL_MS = 10_000;
/** What became of a post, by the id that its upload was given. A private one, and a draft, has no id of its own. */
export async function polledAs(
  http: Http,
  id: string,
  { status, fail_reason: reason, publicaly_available_post_id: ids }: z.output<typeof Status>['data'],
): Promise<Polled> {
  if (status === 'FAILED')
    return AGAIN.includes(reason ?? '') ? { expired: true } : { rejected: `TikTok says ${reason ?? 'that it failed'}` };
  if (status === 'SEND_TO_USER_INBOX') return { id, url: '' };
  if (status !== 'PUBLISH_COMPLETE') return { processingMs: POLL_MS };
  const own = ids?.[0];
  return (own === undefined ? undefined : await shownAs(http, own)) ?? { id, url: '' };
}

const count = z.number().nullish();
const Videos = z.object({
  data: z.object({
    videos: z.array(
      z.object({
        id: z.string(),
        title: z.string().nullish(),
        video_description: z.string().nullish(),
        create_time: z.number().nullish(),
        share_url: z.string().nullish(),
        view_count: count,
        like_count: count,
        comment_count: count,
        share_count: count,
      }),
    ),
  }),
});
type Video = z.output<typeof Videos>['data']['videos'][number];
const published = ({ id, share_url }: Pick<Video, 'id' | 'share_url'>): Published => ({ id, url: share_url ?? '' });

/** The newest public posts of the account. */
const newest = async (http: Http): Promise<Video[]> => {
  const query = { fields: 'id,title,video_description,create_time,share_url' };
  return (await http.post('/video/list/', Videos, { query, json: { max_count: 20 } })).data.videos;
};
/** The post with this id, as it is shown; without an exact id and address where TikTok does not list it. */
async function shownAs(http: Http, id: string | number): Promise<Published | undefined> {
  const video = (await newest(http)).find((one) => one.id === id || Number(one.id) === id);
  return video ? published(video) : typeof id === 'string' ? { id, url: '' } : undefined;
}
/** Lists the public posts since then with this text. */
export const similar = async (http: Http, text: string, since: Date): Promise<Published[]> =>
  (await newest(http))
    .filter(
      ({ title, video_description: description, create_time: at }) =>
        (at ?? 0) * 1_000 >= since.getTime() && sameText(description || title || '', text),
    )
    .map(published);

const counted = (counts: Readonly<Record<string, number | null | undefined>>): Counts =>
  Object.fromEntries(Object.entries(counts).filter(([, value]) => typeof value === 'number'));
/** Reads the counts of at most 20 posts. One without an id of its own is not public, and has none. */
export async function countsOfVideos(http: Http, posts: readonly Published[]): Promise<PostCounts[]> {
  const video_ids = posts.map(({ id }) => id).filter((id) => /^\d+$/.test(id));
  if (video_ids.length === 0) return [];
  const { data } = await http.post('/video/query/', Videos, {
    query: { fields: 'id,view_count,like_count,comment_count,share_count' },
    json: { filters: { video_ids } },
  });
  return data.videos.map(
    ({ id, view_count: views, like_count: likes, comment_count: comments, share_count: shares }) => ({
      id,
      counts: counted({ views, likes, comments, shares }),
    }),
  );
}

const User = z.object({
  data: z.object({ user: z.object({ follower_count: count, likes_count: count, video_count: count }) }),
});
/** Reads the counts of the account as they are now. */
export async function countsOfAccount(http: Http, clock: Clock): Promise<Series[]> {
  const query = { fields: 'follower_count,likes_count,video_count' };
  const { follower_count, likes_count, video_count } = (await http.get('/user/info/', User, { query })).data.user;
  return seriesOfNow(clock, { followers: follower_count, likes: likes_count, posts: video_count });
}
