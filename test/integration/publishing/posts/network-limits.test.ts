import { afterAll, describe, expect, test } from '@jest/globals';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { later, openPostRoutes } from '../../../support/worlds/publishing/post-routes.ts';
import { sealedLogin } from '../../../support/worlds/publishing/world.ts';

// What networks refuse of a combination of items, files and settings is told when the post is made (S108).

// networks that fetch files by themselves reach them there
const routes = await openPostRoutes({ env: { NEXT_PUBLIC_BACKEND_URL: 'https://rookery.example' } });
const { db, ann, create } = routes;
afterAll(routes.close);

const channels = new Map<string, string>();
async function channelOf(provider: string): Promise<string> {
  const id = channels.get(provider) ?? newId();
  if (!channels.has(provider))
    await db.sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
      values (${id}, ${ann.orgId}, ${provider}, 'v1', ${id}, 'Channel', ${sealedLogin(id)})`;
  channels.set(provider, id);
  return id;
}
const TYPES = {
  picture: { kind: 'image', mime: 'image/png' },
  gif: { kind: 'image', mime: 'image/gif' },
  film: { kind: 'video', mime: 'video/mp4', duration_ms: 10_000 },
  sound: { kind: 'audio', mime: 'audio/mpeg' },
  pdf: { kind: 'document', mime: 'application/pdf', width: null, height: null },
} as const;
type Type = keyof typeof TYPES;
/** A file of the library, as a post names it. */
async function file(type: Type, more: object = {}) {
  const row = { width: 1_080, height: 1_080, bytes: 1_000, ...TYPES[type], ...more };
  const id = newId();
  const stored = { id, org_id: ann.orgId, name: 'a', original_name: 'a', storage_key: `x/${id}`, ...row };
  await db.sql`insert into files ${db.sql(stored)}`;
  return { id, path: '' };
}
const files = (...types: Type[]) => Promise.all(types.map((type) => file(type)));
const item = async (...types: Type[]) => ({ content: 'Hello', image: await files(...types) });

interface Made {
  value: object[];
  settings?: object;
}
const bodyOf = async (provider: string, { value, settings = {} }: Made, type = 'schedule') => ({
  type,
  date: later(),
  posts: [{ integration: { id: await channelOf(provider) }, value, settings }],
});
/** The field of a refusal; 201 where the post is taken. */
async function judged(provider: string, made: Made) {
  const body = await bodyOf(provider, made);
  const answer = await create(body);
  const told = answer.status === 201 ? 201 : answer.body.errors[0].field;
  const [entry] = (await ann.client.post('/posts/preflight', body)).body;
  expect([provider, entry.issues[0]?.field ?? 201]).toEqual([provider, told]);
  return told;
}

const reddit = (value: object) => ({ subreddit: [{ value: { subreddit: 'birds', title: 'A title', ...value } }] });
const article = { post_type: 'article', article_title: 'A title' };
const title = { title: 'A title' };
const comment = { firstComment: 'First' };
/** A plug by which a channel of the same network acts for a post. */
const plug = async (provider: string, name: string, text?: string) => ({
  [`plug--${provider}-${name}--active`]: true,
  [`plug--${provider}-${name}--integrations`]: [{ id: await channelOf(provider) }],
  ...(text !== undefined && { [`plug--${provider}-${name}--post`]: text }),
});
const FIRST = 'posts.0.value.0.image';
const SECOND = 'posts.0.value.1';

describe.each<[provider: string, what: string, wrong: () => Promise<Made>, field: string, right: () => Promise<Made>]>([
  [
    'telegram',
    'documents beside pictures and films',
    async () => ({ value: [await item('picture', 'film', 'pdf')] }),
    FIRST,
    async () => ({ value: [await item('picture', 'film')] }),
  ],
  [
    'telegram',
    'sounds beside documents',
    async () => ({ value: [await item('sound', 'pdf')] }),
    FIRST,
    async () => ({ value: [await item('pdf', 'pdf')] }),
  ],
  [
    'x',
    'an article with a thread',
    async () => ({ value: [await item(), await item()], settings: article }),
    SECOND,
    async () => ({ value: [await item()], settings: article }),
  ],
  [
    'x',
    'an animated picture beside another one',
    async () => ({ value: [await item('gif', 'picture')] }),
    FIRST,
    async () => ({ value: [await item('gif')] }),
  ],
  [
    'x',
    'an animated picture that is too large',
    async () => ({ value: [{ content: 'Hi', image: [await file('gif', { bytes: 15_000_001 })] }] }),
    `${FIRST}.0`,
    async () => ({ value: [{ content: 'Hi', image: [await file('gif', { bytes: 15_000_000 })] }] }),
  ],
  [
    'reddit',
    'a text with files',
    async () => ({ value: [await item('picture')], settings: reddit({ type: 'self' }) }),
    FIRST,
    async () => ({ value: [await item('picture')], settings: reddit({ type: 'media' }) }),
  ],
  [
    'reddit',
    'a media post without files',
    async () => ({ value: [await item()], settings: reddit({ type: 'media' }) }),
    FIRST,
    async () => ({ value: [await item()], settings: reddit({ type: 'self' }) }),
  ],
  [
    'reddit',
    'a film without a chosen picture',
    async () => ({ value: [await item('film')], settings: reddit({}) }),
    `${FIRST}.0`,
    async () => ({
      value: [{ content: 'Hi', image: [{ ...(await file('film')), thumbnail: 'https://a.example/t.png' }] }],
      settings: reddit({}),
    }),
  ],
  [
    'instagram',
    'a trial reel without a film',
    async () => ({ value: [await item('film', 'film')], settings: { is_trial_reel: true } }),
    'posts.0.settings.is_trial_reel',
    async () => ({ value: [await item('film'), await item()], settings: { is_trial_reel: true } }),
  ],
  [
    'instagram',
    'a sound for a picture',
    async () => ({ value: [await item('picture')], settings: { audio: { id: '1' } } }),
    'posts.0.settings.audio',
    async () => ({ value: [await item('film')], settings: { audio: { id: '1' } } }),
  ],
  [
    'instagram-standalone',
    'a story that is a trial reel',
    async () => ({ value: [await item('film')], settings: { is_trial_reel: true, post_type: 'story' } }),
    'posts.0.settings.is_trial_reel',
    async () => ({
      value: [await item('picture')],
      settings: { is_trial_reel: false, audio: null, post_type: 'story' },
    }),
  ],
  [
    'pinterest',
    'a film with two pictures',
    async () => ({ value: [await item('film', 'picture', 'picture')], settings: { board: '1' } }),
    FIRST,
    async () => ({ value: [await item('film', 'picture')], settings: { board: '1' } }),
  ],
  [
    'facebook',
    'a comment with two pictures',
    async () => ({ value: [await item(), await item('picture', 'picture')] }),
    `${SECOND}.image`,
    async () => ({ value: [await item(), await item('picture')] }),
  ],
  [
    'facebook',
    'a comment with a film',
    async () => ({ value: [await item(), await item('film')] }),
    `${SECOND}.image.0`,
    async () => ({ value: [await item(), await item()] }),
  ],
  [
    'instagram-standalone',
    'music',
    async () => ({ value: [await item('picture')], settings: { audio: { id: '1' } } }),
    'posts.0.settings.audio',
    async () => ({ value: [await item('picture')], settings: { audio: null } }),
  ],
  [
    'x',
    'a first comment below the draft of an article',
    async () => ({ value: [await item()], settings: { ...article, ...comment, article_status: 'draft' } }),
    'posts.0.settings.firstComment',
    async () => ({ value: [await item()], settings: { ...comment, article_status: 'draft' } }),
  ],
  [
    'x',
    'a repost of the draft of an article',
    async () => ({
      value: [await item()],
      settings: { ...article, article_status: 'draft', ...(await plug('x', 'repost-from')) },
    }),
    'posts.0.settings.plug--x-repost-from--active',
    async () => ({ value: [await item()], settings: { ...article, ...(await plug('x', 'repost-from')) } }),
  ],
  [
    'mastodon',
    'a repost of a post for those who are mentioned',
    async () => ({
      value: [await item()],
      settings: { visibility: 'direct', ...(await plug('mastodon', 'repost-from')) },
    }),
    'posts.0.settings.plug--mastodon-repost-from--active',
    async () => ({ value: [await item()], settings: { visibility: 'direct', ...comment } }),
  ],
  [
    'wordpress',
    'a first comment below a draft',
    async () => ({ value: [await item()], settings: { ...title, ...comment, status: 'draft' } }),
    'posts.0.settings.firstComment',
    async () => ({ value: [await item()], settings: { ...title, ...comment, status: 'pending' } }),
  ],
  [
    'wordpress',
    'a thread below a draft',
    async () => ({ value: [await item(), await item()], settings: { ...title, status: 'draft' } }),
    SECOND,
    async () => ({ value: [await item(), await item()], settings: title }),
  ],
  [
    'twitch',
    'a first comment below an announcement',
    async () => ({ value: [await item()], settings: { ...comment, messageType: 'announcement' } }),
    'posts.0.settings.firstComment',
    async () => ({ value: [await item(), await item()], settings: { messageType: 'announcement' } }),
  ],
  [
    'youtube',
    'a first comment below a video for children',
    async () => ({
      value: [await item('film')],
      settings: { ...title, ...comment, selfDeclaredMadeForKids: 'yes' },
    }),
    'posts.0.settings.firstComment',
    async () => ({ value: [await item('film')], settings: { ...title, ...comment, selfDeclaredMadeForKids: 'no' } }),
  ],
  [
    'youtube',
    'a first comment below a private video',
    async () => ({ value: [await item('film')], settings: { ...title, ...comment, type: 'private' } }),
    'posts.0.settings.firstComment',
    async () => ({ value: [await item('film')], settings: { ...title, ...comment, type: 'unlisted' } }),
  ],
  [
    'x',
    'a comment of another channel that is too long',
    async () => ({ value: [await item()], settings: await plug('x', 'comment-from', 'a'.repeat(281)) }),
    'posts.0.settings.plug--x-comment-from--post',
    async () => ({ value: [await item()], settings: await plug('x', 'comment-from', 'a'.repeat(280)) }),
  ],
])('%s: %s', (provider, _, wrong, field, right) => {
  test('is refused with its field by create and preflight, and what is within the limit is taken [S108]', async () => {
    expect(await judged(provider, await wrong())).toBe(field);
    expect(await judged(provider, await right())).toBe(201);
  });
});

// Files of later items that are comments would be lost: these networks take none there.
test.each<[provider: string, root: Type[], settings: object]>([
  ['instagram', ['picture'], {}],
  ['instagram-standalone', ['picture'], {}],
  ['lemmy', [], { subreddit: [{ value: { id: '1', title: 'A title' } }] }],
  ['linkedin', [], {}],
  ['linkedin-page', [], {}],
  ['peertube', ['film'], title],
  ['reddit', [], reddit({})],
  ['vk', [], {}],
  ['whop', [], { company: 'c', experience: 'e' }],
  ['wordpress', [], title],
  ['youtube', ['film'], title],
])('%s refuses a comment with a file, and takes one without [S108]', async (provider, root, settings) => {
  const commented = async (...types: Type[]) => ({ value: [await item(...root), await item(...types)], settings });
  expect(await judged(provider, await commented(root[0] ?? 'picture'))).toBe(`${SECOND}.image`);
  expect(await judged(provider, await commented())).toBe(201);
});

test('an edit to what the network refuses is 400 with its field, and the post stays as it was [S108]', async () => {
  const made = await create(await bodyOf('telegram', { value: [await item('picture')] }));
  const id = made.body[0].postId;
  const edit = await ann.client.send('PATCH', `/posts/${id}`, { image: await files('picture', 'pdf') });
  expect([edit.status, edit.body.code, edit.body.errors[0].field]).toEqual([400, 'invalid_content', 'image']);
  expect((await ann.client.get(`/posts/${id}`)).body.image).toHaveLength(1);
  const two = await create(await bodyOf('x', { value: [await item(), await item()] }));
  const typed = await ann.client.send('PATCH', `/posts/${two.body[0].postId}`, { settings: article });
  expect([typed.status, typed.body.errors[0].field]).toEqual([400, 'thread.0']);
  const site = await create(await bodyOf('wordpress', { value: [await item()], settings: { ...title, ...comment } }));
  const drafted = await ann.client.send('PATCH', `/posts/${site.body[0].postId}`, { settings: { status: 'draft' } });
  expect([drafted.status, drafted.body.errors[0].field]).toEqual([400, 'settings.firstComment']);
});
