import { z } from 'zod';
import type { Operations } from './_contract.ts';
import { seriesOfNow } from './_series.ts';
import { readableIds } from './_told.ts';
import { creatorOf } from './_tiktok-post.ts';
import { Videos } from './_tiktok-status.ts';

const User = z.object({
  data: z.object({
    user: z.object({
      open_id: z.string(),
      display_name: z.string(),
      username: z.string().nullish(),
      avatar_url: z.url().nullish().catch(undefined),
    }),
  }),
});
const count = z.number().nullish();
const Totals = z.object({
  data: z.object({ user: z.object({ follower_count: count, likes_count: count, video_count: count }) }),
});

/** The account, and what is told of it and of its posts. */
export const tiktokReading = {
  async profile({ http }) {
    const query = { fields: 'open_id,avatar_url,display_name,username' };
    const { data } = await http.get('/user/info/', User, { query });
    const { open_id: id, display_name: name, username, avatar_url: picture } = data.user;
    return { id, name, handle: username ? `@${username}` : '', picture };
  },
  async channelLimits({ http }) {
    const { video } = (await creatorOf(http)).limits;
    return { video };
  },
  /** One without an id of its own is not public, and has no counts. */
  async metrics({ http, posts }) {
    const video_ids = readableIds(posts, /^\d+$/);
    if (video_ids.length === 0) return [];
    const { data } = await http.post('/video/query/', Videos, {
      query: { fields: 'id,view_count,like_count,comment_count,share_count' },
      json: { filters: { video_ids } },
    });
    return data.videos.map(
      ({ id, view_count: views, like_count: likes, comment_count: comments, share_count: shares }) => ({
        id,
        counts: { views, likes, comments, shares },
      }),
    );
  },
  metricsAtOnce: 20,
  async channelMetrics({ http, clock }) {
    const query = { fields: 'follower_count,likes_count,video_count' };
    const { data } = await http.get('/user/info/', Totals, { query });
    const { follower_count: followers, likes_count: likes, video_count: posts } = data.user;
    return seriesOfNow(clock, { followers, likes, posts });
  },
} satisfies Operations;
