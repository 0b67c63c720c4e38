import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import type { Limits } from '../../../../src/providers/registry/index.ts';
import { openPostRoutes } from '../../../support/worlds/publishing/post-routes.ts';

const routes = await openPostRoutes();
const { db, network, ann, key, channel, schedule, create, made, read } = routes;
afterAll(routes.close);

const limits: Limits = { text: 20, unit: 'characters', media: 4, mediaTypes: ['image/*'] };
beforeEach(async () => {
  network.declares = { limits };
  await db.sql`update channels set settings = '{}'`;
});

const image = (count: number) => Array.from({ length: count }, (_, n) => ({ path: `https://a.example/${n}.png` }));
const post = (value: object[], settings: object = {}, more: object = {}) =>
  schedule({ posts: [{ integration: { id: channel }, value, settings }], ...more });
/** The fields of a refusal; 201 where the post is taken. */
async function judged(value: object[], settings: object = {}, more: object = {}) {
  const { status, body } = await create(post(value, settings, more));
  if (status === 201) return status;
  expect([status, body.code]).toEqual([400, 'invalid_content']);
  return body.errors.map(({ field, rule }: { field: string; rule: string }) => `${field} ${rule}`);
}
const edit = async (id: string, body: object) => {
  const { status, body: answer } = await ann.client.send('PATCH', `/posts/${id}`, body);
  return status === 200 ? status : [status, answer.code, answer.errors[0].field];
};

describe('a network without threads', () => {
  beforeEach(() => {
    network.declares = { limits, threads: 'none' };
  });

  test('refuses every item after the first by its field, and takes one item [S108]', async () => {
    expect(await judged([{ content: 'one' }])).toBe(201);
    expect(await judged([{ content: 'one' }, { content: 'two' }, { content: '' }])).toEqual([
      'posts.0.value.1 max_items',
      'posts.0.value.2 max_items',
    ]);
    const id = await made(post([{ content: 'one' }]));
    expect(await edit(id, { thread: [{ content: 'two' }] })).toEqual([400, 'invalid_content', 'thread.0']);
    expect(await edit(id, { content: 'other' })).toBe(200);
  });

  test('refuses a draft with a thread when it is scheduled [S108]', async () => {
    const id = await made(post([{ content: 'one' }, { content: 'two' }], {}, { type: 'draft' }));
    const { status, body } = await key.put(`/public/v1/posts/${id}/status`, { status: 'schedule' });
    expect([status, body.errors[0].field]).toEqual([400, 'thread.0']);
    expect((await read(id)).state).toBe('DRAFT');
  });
});

describe('limits by the type of a post', () => {
  const story = { needsMedia: true, media: 1 };
  const typed: Limits = { ...limits, byType: { setting: 'post_type', limits: { story, article: { text: 50 } } } };
  const settings = z.looseObject({ post_type: z.string().optional() });
  beforeEach(() => {
    network.declares = { limits: typed, settings };
  });

  test('hold for the type that its settings name [S108]', async () => {
    expect(await judged([{ content: 'x'.repeat(21) }])).toEqual(['posts.0.value.0.content max_length']);
    expect(await judged([{ content: 'x'.repeat(50) }], { post_type: 'article' })).toBe(201);
    expect(await judged([{ content: 'x' }], { post_type: 'story' })).toEqual(['posts.0.value.0.image required']);
    expect(await judged([{ content: 'x', image: image(2) }], { post_type: 'story' })).toEqual([
      'posts.0.value.0.image max_items',
    ]);
    expect(await judged([{ content: 'x', image: image(1) }, { content: 'y' }], { post_type: 'story' })).toBe(201);
  });

  test('hold for the type that the settings of the channel name, unless those of the post do [S108]', async () => {
    await db.sql`update channels set settings = '{"post_type": "article"}' where id = ${channel}`;
    expect(await judged([{ content: 'x'.repeat(50) }])).toBe(201);
    expect(await judged([{ content: 'x'.repeat(50) }], { post_type: 'post' })).toEqual([
      'posts.0.value.0.content max_length',
    ]);
  });

  test('hold when only the settings of a post are changed [S108]', async () => {
    const id = await made(post([{ content: 'x'.repeat(50) }], { post_type: 'article' }));
    expect(await edit(id, { settings: { post_type: 'post' } })).toEqual([400, 'invalid_content', 'content']);
    const { status } = await key.put(`/public/v1/posts/${id}/settings`, { settings: { post_type: 'post' } });
    expect([status, (await read(id)).settings.post_type]).toEqual([400, 'article']);
  });
});

test('an edit of a failed post is judged, whichever way it comes: a retry sends what it is then [S108, S109]', async () => {
  const id = await made(post([{ content: 'one' }, { content: 'two' }]));
  await db.sql`
    update posts set state = 'ERROR', detail = null, error_kind = 'validation', due_at = null
    where id = ${id} or root_post_id = ${id}`;
  const long = 'x'.repeat(21);
  const [item] = (await read(id)).thread;
  const update = { type: 'update', posts: [{ integration: { id: channel }, value: [{ id, content: long }] }] };
  expect((await create(update)).body.code).toBe('invalid_content');
  expect(await edit(id, { content: long })).toEqual([400, 'invalid_content', 'content']);
  expect(await edit(id, { thread: [{ content: long }] })).toEqual([400, 'invalid_content', 'thread.0.content']);
  expect(await edit(item.id, { content: long })).toEqual([400, 'invalid_content', 'content']);
  expect(await edit(id, { content: 'other', publishDate: '2020-01-01' })).toBe(200); // it is not sent at that
  expect(await read(id)).toMatchObject({ state: 'ERROR', content: 'other' });
});

test('later items that are comments have the length of a comment, and none of the limits of a type [S108]', async () => {
  const comment = { once: 'at-most-once', limits: { text: 5 }, send: async () => ({ id: 'c', url: '' }) } as const;
  const typed: Limits = {
    ...limits,
    needsMedia: true,
    byType: { setting: 'post_type', limits: { long: { text: 50 } } },
  };
  network.declares = { limits: typed, threads: 'comment', comment };
  const root = { content: 'x', image: image(1) };
  expect(await judged([root, { content: 'fives' }], { post_type: 'long' })).toBe(201);
  expect(await judged([root, { content: 'sixsix' }], { post_type: 'long' })).toEqual([
    'posts.0.value.1.content max_length',
  ]);
  const id = await made(post([root, { content: 'five' }]));
  const [item] = (await read(id)).thread;
  expect(await edit(item.id, { content: 'sixsix' })).toEqual([400, 'invalid_content', 'content']);
  expect(await edit(item.id, { content: 'other' })).toBe(200);
});

test('links, hashtags, mentions and counted settings are bounded [S108]', async () => {
  network.declares = {
    limits: { ...limits, text: 60, links: 1, hashtags: 1, mentions: 1, countedSettings: ['spoiler_text'] },
    settings: z.looseObject({ spoiler_text: z.string().optional() }),
  };
  expect(await judged([{ content: '<p>@ann #one https://a.example</p>' }])).toBe(201);
  expect(await judged([{ content: '@ann @ben #one #two https://a.example https://b.co' }])).toEqual([
    'posts.0.value.0.content max_links',
    'posts.0.value.0.content max_hashtags',
    'posts.0.value.0.content max_mentions',
  ]);
  expect(await judged([{ content: 'x'.repeat(56) }], { spoiler_text: 'cats' })).toBe(201);
  expect(await judged([{ content: 'x'.repeat(57) }], { spoiler_text: 'cats' })).toEqual([
    'posts.0.value.0.content max_length',
  ]);
});

test('integration-settings says each of them', async () => {
  network.declares = {
    limits: {
      ...limits,
      hashtags: 30,
      countedSettings: ['spoiler_text'],
      byType: { setting: 'post_type', limits: { story: { needsMedia: true, media: 1 }, article: { text: 50 } } },
    },
    threads: 'none',
  };
  expect((await key.get(`/public/v1/integration-settings/${channel}`)).body.output.rules).toBe(
    'Fake: at most 20 characters; at most 4 pictures or videos (image/*); at most 30 hashtags; ' +
      'spoiler_text counts with the text; a post has one item, and no thread; ' +
      'with post_type story: at least one and at most 1 pictures or videos; with post_type article: at most 50 characters.',
  );
});
