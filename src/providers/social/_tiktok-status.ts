import { z } from 'zod';
import { sameText } from '../kit/protocols/text.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Polled, Published } from './_contract.ts';
import { sinceThen } from './_lists.ts';

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
/**
 * What became of a post, by the id that its upload was given. A private one, and a draft, has no id of its own; a public
 * one gets it after its moderation, and is listed then: `isAwaited`, while that may still come.
 */
export async function polledAs(
  http: Http,
  { id, isAwaited }: { id: string; isAwaited: boolean },
  { status, fail_reason: reason, publicaly_available_post_id: ids }: z.output<typeof Status>['data'],
): Promise<Polled> {
  if (status === 'FAILED')
    return AGAIN.includes(reason ?? '') ? { expired: true } : { rejected: `TikTok says ${reason ?? 'that it failed'}` };
  if (status === 'SEND_TO_USER_INBOX') return { id, url: '' };
  if (status !== 'PUBLISH_COMPLETE') return { processingMs: POLL_MS };
  const own = ids?.[0];
  const shown = own === undefined ? undefined : await shownAs(http, own);
  return isAwaited && !shown?.url ? { processingMs: POLL_MS } : (shown ?? { id, url: '' });
}

const count = z.number().nullish();
export const Videos = z.object({
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

const NEWEST = 20;
/** The newest public posts of the account. */
const newest = async (http: Http): Promise<Video[]> => {
  const query = { fields: 'id,title,video_description,create_time,share_url' };
  return (await http.post('/video/list/', Videos, { query, json: { max_count: NEWEST } })).data.videos;
};
/** The post with this id, as it is shown; without an exact id and address where TikTok does not list it. */
async function shownAs(http: Http, id: string | number): Promise<Published | undefined> {
  const video = (await newest(http)).find((one) => one.id === id || Number(one.id) === id);
  return video ? published(video) : typeof id === 'string' ? { id, url: '' } : undefined;
}
/** Lists the public posts since then with this text. */
export const similar = async (http: Http, text: string, since: Date): Promise<Published[]> =>
  sinceThen(await newest(http), NEWEST, ({ create_time: at }) => (at ?? 0) * 1_000 >= since.getTime())
    .filter(({ title, video_description: description }) => sameText(description || title || '', text))
    .map(published);
