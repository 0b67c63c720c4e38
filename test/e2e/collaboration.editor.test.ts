import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { findBrowser, openTab, type Tab } from '../support/peers/browser.ts';
import { describePeer, npmPeer, type Peer } from '../support/peers/peers.ts';
import { settles } from '../support/wire/settles.ts';
import { openCoEditing } from '../support/worlds/studio/co-editing.ts';

// Two people in browsers of their own with Tiptap over y-websocket, as its packages are bundled for a page.

async function findBoth() {
  const [browser, editor] = [await findBrowser(), await npmPeer('editor')];
  if ('missing' in browser) return browser;
  if ('missing' in editor) return editor;
  return {
    async start(): Promise<Peer> {
      const [page, { url, stop }] = await Promise.all([editor.start(), browser.start()]);
      const stopBoth = async () => void (await Promise.all([stop(), page.stop()]));
      return { url, env: { page: page.url }, stop: stopBoth, [Symbol.asyncDispose]: stopBoth };
    },
  };
}

await describePeer('chromium with tiptap', findBoth, ({ start }) => {
  let world: Awaited<ReturnType<typeof openCoEditing>>;
  let peer: Peer;
  beforeAll(async () => {
    [peer, world] = await Promise.all([start(), openCoEditing()]);
  }, 180_000);
  afterAll(async () => {
    await peer.stop();
    await world.close();
  });

  const ticket = async (room: string, client = world.ann.client): Promise<string> =>
    (await client.post('/collaboration/ticket', { room })).body.token;
  async function open(room: string, name: string, token: string): Promise<Tab> {
    const tab = await openTab(peer.url);
    const server = `${world.app.address.replace('http', 'ws')}/collaboration`;
    await tab.goto(`${String(peer.env['page'])}/?${new URLSearchParams({ server, room, token, name })}`);
    await tab.until(`window.editor && (provider.synced || endings.length > 0)`);
    return tab;
  }
  /** The editor takes what is typed with the next frame of the browser. */
  async function focus(tab: Tab): Promise<void> {
    await tab.evaluate(`editor.commands.focus('end')`);
    await tab.until('document.activeElement === editor.view.dom');
  }
  const html = (tab: Tab) => tab.evaluate<string>('editor.getHTML()');
  const isSame = async (one: Tab, two: Tab, part: string) =>
    settles(async () => {
      expect(await html(one)).toContain(part);
      expect(await html(two)).toBe(await html(one));
    });
  /** What the product makes of HTML that is sent to it. */
  const asSent = async (content: string) => world.contentOf(await world.draft(content));

  test('two people type in one post, see each other, and the post holds what both see [S204, S205, S208, CL1]', async () => {
    const id = await world.draft();
    const room = `post:${id}`;
    const bob = await world.member('editor');
    await using one = await open(room, 'Ann', await ticket(room));
    await using two = await open(room, 'Bob', await ticket(room, bob.client));
    expect(await html(one)).toBe('<p>Hello</p>');

    await focus(one);
    await one.press(' from Ann', 'Enter', 'a line of hers');
    await isSame(one, two, '<p>Hello from Ann</p><p>a line of hers</p>');
    await two.until(`document.querySelector('.collaboration-carets__label')?.innerText === 'Ann'`);

    await focus(two);
    await two.evaluate(`editor.chain().setTextSelection(0).setHeading({ level: 2 }).run()`);
    await two.press('Bob: ');
    await two.evaluate(`editor.chain().focus('end').toggleBulletList().run()`);
    await two.press(', in bold');
    await two.evaluate(
      `editor.chain().setTextSelection({ from: editor.state.selection.from - 9, to: editor.state.selection.from }).toggleBold().setTextSelection(editor.state.selection.to).run()`,
    );
    await isSame(
      one,
      two,
      '<h2>Bob: Hello from Ann</h2><ul><li><p>a line of hers<strong>, in bold</strong></p></li></ul>',
    );
    await one.until(`document.querySelector('.collaboration-carets__label')?.innerText === 'Bob'`);
    await world.holds(id, await asSent(await html(one)));

    // both at once, in one paragraph and by its end
    await Promise.all([one.press(' +one'), two.press(' +two')]);
    await isSame(one, two, '+one');
    expect(await html(two)).toContain('+two');
    await world.holds(id, await asSent(await html(one)));

    await one.evaluate('provider.disconnect()');
    await two.until(`!document.querySelector('.collaboration-carets__label')`);
    await one.press(' away');
    await two.press(' meanwhile');
    await one.evaluate('provider.connect()');
    await isSame(one, two, ' away');
    expect(await html(one)).toContain(' meanwhile');
    await world.holds(id, await asSent(await html(one)));
    expect([...one.complaints, ...two.complaints]).toEqual([]);
  }, 120_000);

  test('whatever the editor can write is kept by the rules for posts, and stays in the document [S208]', async () => {
    const id = await world.draft();
    const room = `post:${id}`;
    await using tab = await open(room, 'Ann', await ticket(room));
    const content = [
      '<h1>One</h1><h3>Three</h3><p>plain <strong>bold</strong><em>italic</em><u>under</u><br>after</p>',
      '<ul><li><p>a</p><ol><li><p>b <a href="https://a.example/?x=1&y=2">link</a></p></li></ol></li></ul>',
      '<p>to <span data-type="mention" data-id="u1" data-label="Bob"></span>!</p>',
      '<blockquote><p>quoted</p></blockquote><pre><code>code &lt;b&gt;</code></pre><hr><p><s>struck</s></p>',
    ].join('');
    await tab.evaluate(`editor.commands.setContent(${JSON.stringify(content)})`);
    const kept = [
      '<h1>One</h1><h3>Three</h3><p>plain <strong>bold</strong><em>italic</em><u>under</u><br>after</p>',
      '<ul><li><p>a</p><ol><li><p>b <a href="https://a.example/?x=1&amp;y=2">link</a></p></li></ol></li></ul>',
      '<p>to <span class="mention" data-type="mention" data-id="u1" data-label="Bob">@Bob</span>!</p>',
      '<p>quoted</p><p>code &lt;b></p><p></p><p>struck</p>',
    ].join('');
    await world.holds(id, kept);
    expect(await asSent(kept)).toBe(kept);
    await using again = await open(room, 'Ann, later', await ticket(room));
    expect(await html(again)).toBe(await html(tab));
    expect(await html(again)).toContain('<blockquote><p>quoted</p></blockquote>');
  }, 60_000);

  test('a page whose ticket has ended goes on with a new one, and brings what was typed [S204, S206]', async () => {
    const id = await world.draft();
    const room = `post:${id}`;
    await using tab = await open(room, 'Ann', 'ended');
    await tab.until('endings.join() === "4401"');
    await tab.evaluate(`provider.params = { token: ${JSON.stringify(await ticket(room))} }, provider.connect()`);
    await tab.until('provider.synced');
    await focus(tab);
    await tab.press(' there');
    await world.holds(id, '<p>Hello there</p>');
    expect(await tab.evaluate<number[]>('endings')).toEqual([4401]);
  }, 60_000);
});
