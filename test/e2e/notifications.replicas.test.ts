import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { findBrowser, openTab, type Tab } from '../support/peers/browser.ts';
import { describePeer, type Found, type Peer } from '../support/peers/peers.ts';
import { type ApiReplica, startApiReplica } from '../support/processes/api-replica.ts';
import { startBalancer } from '../support/wire/balancer.ts';
import { testDatabase } from '../support/wire/database.ts';
import { signUp } from '../support/worlds/app.ts';

// A page of a browser behind a balancer, with its own EventSource: it comes back by itself when the process that it was
// connected to is killed, and says by Last-Event-ID what it has seen.

const redisUrl = process.env['TEST_REDIS_URL'];
const findBoth = async (): Promise<Found> => (redisUrl ? findBrowser() : { missing: 'no redis-server' });

await describePeer('chromium with two replicas', findBoth, ({ start }) => {
  const opened = new AsyncDisposableStack();
  let browser: Peer;
  let first: ApiReplica;
  let second: ApiReplica;
  let balancer: Awaited<ReturnType<typeof startBalancer>>;
  beforeAll(async () => {
    const db = opened.use(await testDatabase());
    browser = opened.use(await start());
    const replica = () => startApiReplica({ databaseUrl: db.url, redisUrl: redisUrl! });
    first = opened.use(await replica());
    second = opened.use(await replica());
    balancer = opened.use(await startBalancer());
  }, 180_000);
  afterAll(() => opened.disposeAsync());

  const titles = (tab: Tab) => tab.evaluate<string[]>('told');
  const seen = (tab: Tab, title: string) => tab.until(`told.includes(${JSON.stringify(title)})`);

  test('a page sees each notice once and in order, though the replica behind its stream is killed', async () => {
    const ann = await signUp(second.address, {});
    /** By the replica that stays, whichever the page is connected to. */
    const announce = async (title: string) => {
      const { status, text } = await ann.client.post('/notifications/broadcast', {
        title,
        content: 'c',
        target: { type: 'users', userIds: [ann.userId] },
        channels: ['in-app'],
      });
      expect([status, text]).toEqual([200, expect.any(String)]);
    };
    await using tab = await openTab(browser.url);
    await tab.setCookies(balancer.url, ann.client.cookies);
    balancer.backends.push(first.address);
    await tab.goto(`${balancer.url}/device`);
    await tab.until(`document.readyState === 'complete'`);
    await announce('earlier');
    await tab.evaluate(`
      window.told = [];
      window.connected = 0;
      window.source = new EventSource('/notifications/stream');
      source.onopen = () => connected += 1;
      source.addEventListener('notification', ({ data }) => told.push(JSON.parse(data).title));`);
    await tab.until('connected === 1');
    balancer.backends.push(second.address);

    await announce('one');
    await seen(tab, 'one');
    await announce('two'); // it may have been sent by the first, or not
    await first.kill();
    for (const title of ['three', 'four']) await announce(title);
    await seen(tab, 'four');
    await announce('five');
    await seen(tab, 'five');
    expect(await titles(tab)).toEqual(['one', 'two', 'three', 'four', 'five']);
    expect(await tab.evaluate('connected')).toBe(2);
    expect(tab.complaints).toEqual([]);
  }, 120_000);
});
