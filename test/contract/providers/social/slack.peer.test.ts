import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Outbound, openOutbound } from '../../../../src/platform/outbound/index.ts';
import type { Tokens } from '../../../../src/providers/registry/index.ts';
import { failureOf } from '../../../support/peers/fake-network.ts';
import { describePeer, npmPeer, type Peer } from '../../../support/peers/peers.ts';
import { led } from '../../../support/wire/led.ts';
import { mediaOf } from '../../../support/worlds/media-of.ts';
import { handleOf, localProviders, postOf } from '../../../support/worlds/providers.ts';
import { HEADS, picture } from '../../../support/worlds/samples.ts';

interface Message {
  ts: string;
  text: string;
  thread_ts?: string;
  files?: { title: string; mimetype: string; size: number }[];
}

await describePeer(
  'simulator of Slack',
  () => npmPeer('social-servers'),
  ({ start }) => {
    const app = { clientId: 'the-client', clientSecret: 'the-app-secret' };
    let slack: Peer;
    let outbound: Outbound & AsyncDisposable;
    let providers: ReturnType<typeof localProviders>;
    let tokens: Tokens;
    let channels: Record<string, string>;
    beforeAll(async () => {
      slack = await start();
      outbound = openOutbound({ timeoutMs: 20_000, allowedPrivateCidrs: ['127.0.0.1/32'] });
      providers = localProviders({
        outbound: led(outbound, (origin) => (origin === 'https://slack.com' ? slack.url : undefined)),
      });
      tokens = await consent();
      const listed = (await channel().tool!('channels', {})) as { id: string; name: string }[];
      channels = Object.fromEntries(listed.map(({ id, name }) => [name, id]));
    }, 120_000);
    afterAll(async () => {
      await providers[Symbol.asyncDispose]();
      await outbound[Symbol.asyncDispose]();
      await slack.stop();
    });

    const adapter = () => providers.resolve('social', 'slack');
    const channel = (of = tokens) =>
      providers.connect(adapter(), { values: {}, account: 'T000000001', tokens: of, app });
    const settings = () => ({ channel: channels['bread'] });
    /** Asks the simulator, without the adapter. */
    const messages = async (method: string, form: Record<string, string>) => {
      const body = new URLSearchParams({ channel: channels['bread']!, ...form });
      const headers = { authorization: `Bearer ${tokens.accessToken}` };
      const answer = await fetch(`${slack.url}/api/conversations.${method}`, { method: 'POST', headers, body });
      return ((await answer.json()) as { messages: Message[] }).messages;
    };
    const shown = async ({ id }: { id: string }) => {
      const all = await messages('history', { limit: '200' });
      return all.find(({ ts }) => `${channels['bread']}/${ts}` === id);
    };

    /** Logs in as a person does: chooses a user on the simulator's own page, and comes back with a code. */
    async function consent(): Promise<Tokens> {
      const redirectUri = slack.env['redirect'] as string;
      const begun = { app, values: {}, redirectUri, state: 'the-state' };
      const { url, kept } = await providers.authorize(adapter(), begun);
      const { pathname, search } = new URL(url);
      const page = await (await fetch(slack.url + pathname + search)).text();
      const [, action = ''] = /<form[^>]*action="([^"]+)"/.exec(page) ?? [];
      const fields = [...page.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [
        name!,
        value!,
      ]);
      const body = new URLSearchParams(Object.fromEntries(fields) as Record<string, string>);
      const answer = await fetch(new URL(action, slack.url), { method: 'POST', redirect: 'manual', body });
      const back = new URL(answer.headers.get('location') ?? 'https://rookery.example/refused');
      expect(back.origin + back.pathname).toBe(redirectUri);
      expect(back.searchParams.get('state')).toBe('the-state');
      return providers.exchange(adapter(), {
        app,
        values: {},
        redirectUri,
        code: back.searchParams.get('code')!,
        kept,
      });
    }

    test('connects by consent, and identifies the workspace', async () => {
      await expect(channel().profile()).resolves.toMatchObject({ id: 'T000000001', name: 'Bakers' });
      expect(Object.keys(channels)).toEqual(expect.arrayContaining(['general', 'bread']));
    });

    test('publishes a message, finds it by the id of the post, and removes it', async () => {
      const since = new Date(new Date().getTime() - 60_000);
      const post = postOf('Hello *you* & <https://rookery.example|us>');
      const published = await channel().publish(post, settings(), handleOf());
      expect(await shown(published)).toMatchObject({ text: post.text });
      const attempt = { since, saved: undefined, thread: [] };
      await expect(channel().find!(post, settings(), attempt)).resolves.toEqual(published);
      await expect(channel().find!(postOf(post.text), settings(), attempt)).resolves.toBeUndefined();
      await channel().remove!(published);
      expect(await shown(published)).toBeUndefined();
      await channel().remove!(published); // what is gone counts as removed
    });

    test('publishes a picture and a video with a text', async () => {
      const said = { alt: 'A red rectangle' };
      const red = await mediaOf(await picture(3, 2), { name: 'red.png', contentType: 'image/png', ...said });
      const clip = await mediaOf(HEADS['mp4']!, { name: 'clip.mp4', contentType: 'video/mp4', ...said });
      const published = await channel().publish(postOf('Look', [red, clip]), settings(), handleOf());
      const message = await shown(published);
      expect(message).toMatchObject({ text: 'Look' });
      expect(message!.files).toMatchObject([
        { title: 'red.png', mimetype: 'image/png', size: red.size },
        { title: 'clip.mp4', size: clip.size },
      ]);
    });

    test('publishes a thread, comments on it, and reads the comments', async () => {
      const root = await channel().publish(postOf('Root'), settings(), handleOf());
      await channel().publish(postOf('Second'), settings(), handleOf(undefined, [root]));
      const post = postOf('Nice');
      const comment = await channel().comment!({ post, published: root }, handleOf());
      const since = new Date(new Date().getTime() - 60_000);
      const attempt = { since, saved: undefined, thread: [] };
      await expect(channel().findComment!({ post, published: root }, attempt)).resolves.toEqual(comment);
      const { comments } = await channel().comments!(root);
      expect(comments.map(({ text }) => text)).toEqual(['Second', 'Nice']);
      expect(comments[1]!.id).toBe(comment.id);
      await expect(channel().metrics!([root])).resolves.toMatchObject([{ id: root.id, counts: { reactions: 0 } }]);
    });

    test('offers people for a mention', async () => {
      const [ann] = await channel().mentions!('ann');
      expect(ann).toMatchObject({ label: 'ann', id: expect.stringMatching(/^U/) });
    });

    // any token is good there, so that no wrong one can be shown
    test('a wrong code, a channel that is not there and a thread in none are refused', async () => {
      const lost = [
        channel().publish(postOf('Never'), { channel: 'C0' }, handleOf()),
        channel().comment!({ post: postOf('Never'), published: { id: 'C0/1.2', url: '' } }, handleOf()),
      ];
      for (const one of lost) expect(await failureOf(one)).toMatchObject({ failure: 'rejected' });
      const code = { app, values: {}, redirectUri: slack.env['redirect'] as string, code: 'guessed', kept: {} };
      expect(await failureOf(providers.exchange(adapter(), code))).toMatchObject({ failure: 'reauthorize' });
    });
  },
);
