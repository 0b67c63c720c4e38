import { afterAll, beforeAll, expect, test } from '@jest/globals';
import sharp from 'sharp';
import type { Media, Tokens } from '../../../../src/providers/registry/index.ts';
import { failureOf } from '../../../support/peers/fake-network.ts';
import { mediaOf } from '../../../support/worlds/media-of.ts';
import { describePeer, type Peer } from '../../../support/peers/peers.ts';
import { handleOf, localProviders, lookUp, postOf } from '../../../support/worlds/providers.ts';
import { snacPeer } from '../../../support/peers/snac.ts';

interface Status {
  id: string;
  content: string;
  visibility: string;
  spoiler_text: string;
  sensitive: boolean;
  in_reply_to_id: string | null;
  media_attachments: { type: string; description: string; url: string }[];
  mentions: { acct: string }[];
  tags: { name: string }[];
}

// the snac of Debian's backports has no request to delete a status, and shows the direct answers to one alone

const REDIRECT = 'https://rookery.example/integrations/social/mastodon';

await describePeer('snac (Mastodon API)', snacPeer, ({ start }) => {
  let snac: Peer;
  let providers: ReturnType<typeof localProviders>;
  let tokens: Tokens;
  let account: string;
  beforeAll(async () => {
    snac = await start();
    providers = localProviders();
    tokens = await consent('alice', (snac.env['passwords'] as Record<string, string>)['alice']!);
    account = (await providers.connect(adapter(), { values: values(), account: '', tokens }).profile()).id;
  }, 120_000);
  afterAll(async () => {
    await providers[Symbol.asyncDispose]();
    await snac.stop();
  });

  const adapter = () => providers.resolve('social', 'mastodon');
  const values = () => providers.fields(adapter(), { instance: `${snac.url}/` });
  const channel = () => providers.connect(adapter(), { values: values(), account, tokens });
  const ask = async (path: string) =>
    (
      await providers.outbound.fetch(`${snac.url}/api${path}`, {
        headers: { authorization: `Bearer ${tokens.accessToken}` },
      })
    ).json();

  /** Logs in as a person does: types a password into the server's own page, and comes back with a code. */
  async function consent(login: string, passwd: string): Promise<Tokens> {
    const app = (await providers.registerApp(adapter(), values(), REDIRECT))!;
    const { url, kept } = await providers.authorize(adapter(), {
      app,
      values: values(),
      redirectUri: REDIRECT,
      state: 'the-state',
    });
    const page = (await providers.outbound.fetch(url)).text();
    const hidden = Object.fromEntries(
      [...page.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name!, value!]),
    );
    const answer = await providers.outbound.fetch(`${snac.url}/oauth/x-snac-login`, {
      method: 'POST',
      redirects: 'none',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ ...hidden, login, passwd }).toString(),
    });
    const back = new URL(answer.headers.get('location') ?? 'https://rookery.example/refused');
    expect(back.origin + back.pathname).toBe(REDIRECT);
    expect(back.searchParams.get('state')).toBe('the-state');
    return providers.exchange(adapter(), {
      app,
      values: values(),
      redirectUri: REDIRECT,
      code: back.searchParams.get('code')!,
      kept,
    });
  }

  const photo = async (): Promise<Media> => {
    const data = await sharp({ create: { width: 60, height: 40, channels: 3, background: '#2a6' } })
      .png()
      .toBuffer();
    return mediaOf(data, {
      name: 'green.png',
      contentType: 'image/png',
      alt: 'A green field',
      publicUrl: 'https://files.example/green.png',
    });
  };

  test('identifies the account by its server and id', async () => {
    const profile = await channel().profile();
    expect(profile).toMatchObject({ name: 'alice', handle: `@alice@${new URL(snac.url).host}`, server: snac.url });
    expect(profile.id.endsWith(`@${new URL(snac.url).host}`)).toBe(true);
  });

  test('publishes a status with a link, a mention, a tag and a picture with alt text', async () => {
    const text = 'Hello @bob, see https://rookery.example/a?b=1 #Birds';
    const published = await channel().publish(postOf(text, [await photo()]), { visibility: 'public' }, handleOf());
    const status = (await ask(`/v1/statuses/${published.id}`)) as Status;
    expect(status.content).toContain('href="https://rookery.example/a?b=1"');
    expect(status.media_attachments).toMatchObject([{ type: 'image', description: 'A green field' }]);
    expect(status.mentions.map(({ acct }) => acct)).toEqual([expect.stringContaining('bob')]);
    expect(status.tags.map(({ name }) => name.toLowerCase())).toEqual(['birds']);
    expect(URL.canParse(published.url)).toBe(true);
  });

  test('sends the settings of a post', async () => {
    const published = await channel().publish(
      postOf('Careful'),
      { spoiler_text: 'About birds', sensitive: true, language: 'de' },
      handleOf(),
    );
    expect((await ask(`/v1/statuses/${published.id}`)) as Status).toMatchObject({
      visibility: 'public',
      spoiler_text: 'About birds',
      sensitive: true,
    });
  });

  test('finds a status by its text after a lost answer, and no other', async () => {
    const since = new Date(Date.now() - 1_000); // it keeps whole seconds
    const post = postOf(`Find me & <this> "too" https://rookery.example/find?a=1&b=2`);
    const published = await channel().publish(post, {}, handleOf());
    expect(await lookUp(channel(), post, { since })).toEqual([published.id]);
    expect(await lookUp(channel(), postOf('Another one'), { since })).toEqual([]);
    expect(await lookUp(channel(), post, { since: new Date(since.getTime() + 3_600_000) })).toEqual([]);
  });

  test('finds all statuses with the same text, picture and parent, and no others', async () => {
    const since = new Date(Date.now() - 1_000);
    const [first, second] = [postOf('Twice', [await photo()]), postOf('Twice', [await photo()])];
    const released = [await channel().publish(first, {}, handleOf()), await channel().publish(second, {}, handleOf())];
    const reply = await channel().publish(postOf('Twice', [await photo()]), {}, handleOf(undefined, [released[0]!]));
    expect((await lookUp(channel(), second, { since })).toSorted()).toEqual(released.map(({ id }) => id).toSorted());
    expect(await lookUp(channel(), second, { since, thread: [released[0]!] })).toEqual([reply.id]);
    expect(await lookUp(channel(), second, { since, thread: [released[1]!] })).toEqual([]);
  });

  test('publishes a thread of replies', async () => {
    const root = await channel().publish(postOf('Root'), {}, handleOf());
    const second = await channel().publish(postOf('Second'), {}, handleOf(undefined, [root]));
    expect((await ask(`/v1/statuses/${second.id}`)) as Status).toMatchObject({ in_reply_to_id: root.id });
  });

  test('comments on a status, answers the comment, finds it after a lost answer, and reads both', async () => {
    const since = new Date(Date.now() - 1_000);
    const published = await channel().publish(postOf('Talk'), {}, handleOf());
    const said = { post: postOf('Nice'), published };
    const comment = await channel().comment!(said, handleOf());
    const answer = await channel().comment!({ post: postOf('Thanks'), published, parent: comment }, handleOf());
    expect((await ask(`/v1/statuses/${comment.id}`)) as Status).toMatchObject({
      in_reply_to_id: published.id,
      visibility: 'public',
    });
    expect((await ask(`/v1/statuses/${answer.id}`)) as Status).toMatchObject({ in_reply_to_id: comment.id });
    const attempt = { since, saved: undefined, thread: [] };
    await expect(channel().findComment!(said, attempt)).resolves.toMatchObject([{ id: comment.id }]);
    const { comments } = await channel().comments!(published);
    const told = comments.find(({ id }) => id === comment.id)!;
    expect(told).toMatchObject({ text: 'Nice', author: { name: 'alice' } });
    expect(told.parentId).toBeUndefined();
    expect((await channel().comments!(comment)).comments).toMatchObject([{ id: answer.id, text: 'Thanks' }]);
  });

  test('a wrong password and a wrong token are refused', async () => {
    await expect(consent('alice', 'wrong')).rejects.toThrow();
    const stranger = providers.connect(adapter(), {
      values: values(),
      account,
      tokens: { accessToken: 'f'.repeat(32) },
    });
    expect(await failureOf(stranger.publish(postOf('Never'), {}, handleOf()))).toMatchObject({
      failure: 'reauthorize',
    });
  });
});
