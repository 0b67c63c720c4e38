import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Published } from '../../../../src/providers/registry/index.ts';
import { failureOf } from '../../../support/peers/fake-network.ts';
import { describePeer, type Peer } from '../../../support/peers/peers.ts';
import { wordpressPeer } from '../../../support/peers/wordpress.ts';
import { mediaOf } from '../../../support/worlds/media-of.ts';
import { handleOf, localProviders, postOf } from '../../../support/worlds/providers.ts';
import { HEADS, picture } from '../../../support/worlds/samples.ts';

interface Shown {
  status: string;
  title: { raw: string; rendered: string };
  content: { raw: string };
  featured_media: number;
  tags: number[];
  categories: number[];
}

await describePeer('wordpress', wordpressPeer, ({ start }) => {
  let wordpress: Peer;
  let providers: ReturnType<typeof localProviders>;
  beforeAll(async () => {
    wordpress = await start();
    providers = localProviders();
  }, 120_000);
  afterAll(async () => {
    await providers[Symbol.asyncDispose]();
    await wordpress.stop();
  });

  const passwordOf = (username: string) => (wordpress.env['users'] as Record<string, string>)[username]!;
  const adapter = () => providers.resolve('social', 'wordpress');
  const connection = (username = 'ann', password = passwordOf(username)) => ({
    values: providers.fields(adapter(), { domain: wordpress.url, username, password }),
    account: `1@${new URL(wordpress.url).host}`,
  });
  const channel = (...login: Parameters<typeof connection>) => providers.connect(adapter(), connection(...login));
  /** Asks the site, without the adapter. */
  const asked = async (path: string, method = 'GET', json?: object) => {
    const authorization = `Basic ${btoa(`ann:${passwordOf('ann')}`)}`;
    const headers = { authorization, 'content-type': 'application/json' };
    const body = json && JSON.stringify(json);
    return (await fetch(`${wordpress.url}/wp-json/wp/v2${path}`, { method, headers, ...(body && { body }) })).json();
  };
  const shown = async ({ id }: Pick<Published, 'id'>) => (await asked(`/posts/${id}?context=edit`)) as Shown;
  const titled = async (title: string) =>
    ((await asked(`/posts?status=any&context=edit&per_page=100`)) as Shown[]).filter((one) => one.title.raw === title);
  const lookUpOf = (saved: unknown) => ({ since: new Date(Date.now() - 60_000), saved, thread: [] });

  test('identifies the account and its site, and lists what a form asks for', async () => {
    const { host } = new URL(wordpress.url);
    const own = { id: `1@${host}`, name: 'ann', handle: `ann@${host}`, server: wordpress.url };
    await expect(channel().profile()).resolves.toMatchObject(own);
    await expect(channel().tool!('postTypes', {})).resolves.toEqual([
      { id: 'posts', name: 'Posts' },
      { id: 'pages', name: 'Pages' },
    ]);
    await expect(channel().tool!('categoriesList', {})).resolves.toEqual([{ value: '1', label: 'Uncategorized' }]);
    await expect(channel().tool!('tagsList', { search: 'nothing' })).resolves.toEqual([]);
  });

  test('publishes a text under its address, finds it, and removes it', async () => {
    const post = postOf(
      'Hello <b>you</b> & "me"\nline\n\nBye <a href="https://rookery.example/?a=1&amp;b=2">us</a> 👋',
    );
    const handle = handleOf();
    const published = await channel().publish(post, { title: 'A "title" & <more>' }, handle);
    expect(await shown(published)).toMatchObject({
      status: 'publish',
      title: { rendered: 'A &quot;title&quot; &amp; &lt;more&gt;' },
    });
    const page = await fetch(`${wordpress.url}/wp-json/wp/v2/posts/${published.id}`); // as anybody sees it
    expect(((await page.json()) as { link: string }).link).toBe(published.url);

    const attempt = lookUpOf(handle.kept.at(-1));
    await expect(channel().find!(post, { title: 'A "title" & <more>' }, attempt)).resolves.toEqual(published);
    await channel().remove!(published);
    expect(await shown(published)).toMatchObject({ status: 'trash' });
    await channel().remove!(published); // what is gone counts as removed
    await expect(channel().find!(post, { title: 'x' }, attempt)).resolves.toBeUndefined();
  });

  test('publishes pictures, a video and a cover, with tags that are made once', async () => {
    const red = await mediaOf(await picture(30, 20), { name: 'red.png', contentType: 'image/png', alt: 'A "red" one' });
    const clip = await mediaOf(HEADS['mp4']!, { name: 'clip.mp4', contentType: 'video/mp4', alt: '' });
    const settings = {
      title: 'Pictures',
      main_image: 'https://rookery.example/red.png',
      tags: ['Bread', 'Cake'],
      categories: ['1'],
    };
    const post = { ...postOf('Look', [red, clip]), files: { main_image: red } };
    const published = await channel().publish(post, settings, handleOf());
    const { content, featured_media, tags, categories } = await shown(published);
    const media = (await asked('/media?context=edit')) as {
      id: number;
      alt_text: string;
      source_url: string;
      mime_type: string;
    }[];
    const [cover, film, first] = media; // the newest first
    expect(featured_media).toBe(cover!.id);
    expect([cover, film, first]).toMatchObject([
      { mime_type: 'image/png' },
      { mime_type: 'video/mp4', alt_text: '' },
      { mime_type: 'image/png', alt_text: 'A "red" one' },
    ]);
    expect(content.raw).toContain(
      `<img src="${first!.source_url}" alt="A &quot;red&quot; one" class="wp-image-${first!.id}">`,
    );
    expect(content.raw).toContain(`<video controls src="${film!.source_url}">`);
    for (const { source_url } of media) expect((await fetch(source_url)).status).toBe(200);
    expect(categories).toEqual([1]);
    const known = await channel().tool!('tagsList', {});
    expect(known).toEqual(expect.arrayContaining([{ value: String(tags[0]), label: 'Bread' }]));
    const again = await channel().publish(
      postOf('Again'),
      { title: 'Again', tags: ['bread', { value: 'Cake', label: 'Cake' }] },
      handleOf(),
    );
    expect((await shown(again)).tags.toSorted()).toEqual(tags.toSorted());
  });

  test('refuses categories and tags that the site does not have any more, and leaves no draft', async () => {
    const made = async (terms: string, name: string) =>
      ((await asked(`/${terms}`, 'POST', { name })) as { id: number }).id;
    const [kept, gone] = [await made('categories', 'Rye'), await made('categories', 'Spelt')];
    const tag = await made('tags', 'Oats');
    for (const path of [`/categories/${gone}`, `/tags/${tag}`])
      expect(await asked(`${path}?force=true`, 'DELETE')).toMatchObject({ deleted: true });
    const publish = (settings: object) =>
      channel().publish(postOf('Never'), { title: 'Never baked', ...settings }, handleOf());
    expect(await failureOf(publish({ categories: [kept, gone] }))).toMatchObject({
      failure: 'rejected',
      message: expect.stringContaining(`no category ${gone}`),
    });
    expect(await failureOf(publish({ tags: [tag] }))).toMatchObject({
      failure: 'rejected',
      message: expect.stringContaining(`no tag ${tag}`),
    });
    expect(await titled('Never baked')).toEqual([]);
    expect((await shown(await publish({ categories: [kept] }))).categories).toEqual([kept]);
  });

  test('goes on with the draft of another process, and makes no second post', async () => {
    const post = postOf('Only once');
    const settings = { title: 'Only once' };
    const handle = handleOf();
    const steps = providers.connectSteps(adapter(), connection());
    await expect(steps.prepare!(post, settings, handle)).resolves.toBe('ready');
    const saved = handle.kept.at(-1);
    await expect(channel().find!(post, settings, lookUpOf(saved))).resolves.toBeUndefined();
    const published = await channel().publish(post, settings, handleOf(saved));
    await expect(channel().publish(post, settings, handleOf(saved))).resolves.toEqual(published);
    expect(await titled('Only once')).toMatchObject([{ status: 'publish' }]);
  });

  test.each(['draft', 'pending', 'private'])('leaves a post %s, and finds it so', async (status) => {
    const settings = { title: `A ${status}`, status };
    const post = postOf('Not for all');
    const handle = handleOf();
    const published = await channel().publish(post, settings, handle);
    expect(await shown(published)).toMatchObject({ status });
    await expect(channel().find!(post, settings, lookUpOf(handle.kept.at(-1)))).resolves.toEqual(published);
  });

  test('comments, answers, reads, finds, hides and shows comments', async () => {
    const published = await channel().publish(postOf('Talk'), { title: 'Talk' }, handleOf());
    const changed = 'Rookery (tm), 2x3 at Wordpress :) 8-) :P :cool:';
    const post = {
      ...postOf(`I said "yes" -- & it's <b>fine</b> ${changed}`),
      plain: `I said "yes" -- & it's fine ${changed}`,
    };
    const comment = await channel().comment!({ post, published }, handleOf());
    await expect(channel().findComment!({ post, published }, lookUpOf(undefined))).resolves.toEqual([comment]);
    const parent = { id: comment.id };
    const reply = await channel().comment!({ post: postOf('Thanks'), published, parent }, handleOf());
    const { comments, next } = await channel().comments!(published);
    expect(next).toBeUndefined();
    expect(comments).toMatchObject([
      { id: reply.id, text: 'Thanks', parentId: comment.id },
      { id: comment.id, url: comment.url, author: { id: '1', name: 'ann' } },
    ]);
    await channel().hide!(parent, true);
    expect(await asked(`/comments/${comment.id}`)).toMatchObject({ status: 'hold' });
    await channel().hide!(parent, false);
    expect(await asked(`/comments/${comment.id}`)).toMatchObject({ status: 'approved' });
    await channel().remove!(comment);
    await channel().remove!(comment);
    expect((await channel().comments!(published)).comments.map(({ id }) => id)).toEqual([reply.id]);
  });

  test('a wrong password, a role that may not publish, and a type of posts that is not there are refused in words', async () => {
    expect(await failureOf(channel('ann', 'wrong').profile())).toMatchObject({ failure: 'reauthorize' });
    const carls = channel('carl').publish(postOf('Never'), { title: 'Of Carl' }, handleOf());
    expect(await failureOf(carls)).toMatchObject({
      failure: 'rejected',
      message: expect.stringContaining('not allowed'),
    });
    const lost = channel().publish(postOf('Never'), { title: 'Never', type: 'books' }, handleOf());
    expect(await failureOf(lost)).toMatchObject({
      failure: 'rejected',
      message: expect.stringContaining('No route was found'),
    });
    expect(await titled('Never')).toEqual([]);
  });
});
