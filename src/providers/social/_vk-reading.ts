import { z } from 'zod';
import type { Operations } from './_contract.ts';
import { seriesOfNow } from './_series.ts';
import { readableIds } from './_told.ts';
import { readComments } from './_vk-comments.ts';
import { ANSWER_BYTES, answered, countsOf, postAt, WallPosts } from './_vk-wall.ts';

const Person = z.object({
  id: z.int(),
  first_name: z.string(),
  last_name: z.string(),
  screen_name: z.string().optional(),
  photo_200: z.url().optional(),
  followers_count: z.int().optional(),
});
const Found = z.object({
  items: z.array(
    z.object({
      id: z.int(),
      first_name: z.string().optional(),
      last_name: z.string().optional(),
      name: z.string().optional(),
      photo_50: z.url().optional(),
    }),
  ),
});

/** The account, people and communities, and what is told of posts. */
export const vkReading = {
  async profile({ http }) {
    const { response } = await http.get('/users.get', answered(z.tuple([Person])), {
      query: { fields: 'screen_name,photo_200' },
    });
    const [{ id, first_name, last_name, screen_name, photo_200: picture }] = response;
    const handle = `@${screen_name ?? `id${id}`}`;
    return { id: String(id), name: `${first_name} ${last_name}`, handle, picture };
  },
  commentReads: { lists: 'top' },
  comments: (call) => readComments(call),
  async mentions({ http, query: q }) {
    const query = { q, count: '10', fields: 'photo_50' };
    const people = await http.get('/users.search', answered(Found), { query });
    const groups = await http.get('/groups.search', answered(Found), { query: { q, count: '10' } });
    return [
      ...people.response.items.map(({ id, first_name, last_name, photo_50: image }) => {
        return { id: `id${id}`, label: `${first_name} ${last_name}`, image };
      }),
      ...groups.response.items.map(({ id, name = '', photo_50: image }) => ({ id: `club${id}`, label: name, image })),
    ];
  },
  mention: ({ id, label }) => (/^(?:id|club)\d+$/.test(id) ? `[${id}|${label.replace(/[[\]|]/g, '')}]` : undefined),
  async metrics({ http, posts }) {
    const ids = readableIds(posts, /^-?\d+_\d+$/);
    if (ids.length === 0) return [];
    const query = { posts: ids.join(',') };
    const { response } = await http.get('/wall.getById', answered(WallPosts), { query, answerBytes: ANSWER_BYTES });
    return response.map((one) => ({ id: postAt(one.owner_id, one.id).id, counts: countsOf(one) }));
  },
  metricsAtOnce: 25,
  async channelMetrics({ http, clock }) {
    const { response } = await http.get('/users.get', answered(z.tuple([Person])), {
      query: { fields: 'followers_count' },
    });
    return seriesOfNow(clock, { followers: response[0].followers_count });
  },
} satisfies Operations;
