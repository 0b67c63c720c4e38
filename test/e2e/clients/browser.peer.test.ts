import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packClients } from '../../../scripts/clients.ts';
import { findBrowser, openTab } from '../../support/peers/browser.ts';
import { describePeer, type Peer } from '../../support/peers/peers.ts';
import { mcpWorld, type McpWorld } from '../../support/worlds/mcp.ts';
import { startReceiver } from '../../support/wire/receiver.ts';

// The TypeScript client in a page of another origin, as it is packed, without a bundler.

const FETCH = join(import.meta.dirname, '../../../node_modules/openapi-fetch/dist/index.mjs');
const PAGE = `<!doctype html><title>x</title><script type="importmap">
{"imports": {"rookery-client": "/typescript/src/index.js", "openapi-fetch": "/openapi-fetch.js"}}</script>`;

await describePeer('chromium', findBrowser, ({ start }) => {
  let world: McpWorld;
  let browser: Peer;
  let folder: string;
  let site: Awaited<ReturnType<typeof startReceiver>>;
  beforeAll(async () => {
    world = await mcpWorld();
    browser = await start();
    folder = mkdtempSync(join(tmpdir(), 'rookery-browser-client-'));
    const { typescript } = await packClients(folder);
    execFileSync('tar', ['xzf', typescript, '-C', folder]);
    site = await startReceiver({
      answer: (response, { path }) => {
        const isPage = path === '/';
        const file = path === '/openapi-fetch.js' ? FETCH : join(folder, 'package/dist', path);
        response.setHeader('content-type', isPage ? 'text/html' : 'text/javascript');
        response.end(isPage ? PAGE : readFileSync(file));
      },
    });
  }, 180_000);
  afterAll(async () => {
    await site[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
    await browser.stop();
    await world[Symbol.asyncDispose]();
  });

  test('publishes a post, uploads a stream, and sees a refusal with its code [S20]', async () => {
    await using tab = await openTab(browser.url);
    await tab.goto(site.url);
    await tab.until(`document.readyState === 'complete'`);
    const found = await tab.evaluate(`(async () => {
      const { openRookery, RookeryError } = await import('rookery-client');
      const rookery = openRookery(${JSON.stringify({ url: world.product.address, credential: world.key.key })});
      const [channel] = await rookery.channels();
      const png = Uint8Array.from(atob('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='), (one) => one.charCodeAt(0));
      const { id, path } = await rookery.upload(new Blob([png]).stream(), { name: 'dot.png', type: 'image/png' });
      const [created] = await rookery.createPosts({
        type: 'now',
        posts: [{ integration: { id: channel.id }, value: [{ content: 'From a page', image: [{ id, path }] }] }],
      });
      const { state } = await rookery.waitFor(created);
      const refusal = await rookery.getPost('away').catch((error) => error);
      return { state, code: refusal.code, isRefusal: refusal instanceof RookeryError, requestId: refusal.requestId };
    })()`);
    expect(found).toEqual({ state: 'PUBLISHED', code: 'not_found', isRefusal: true, requestId: expect.any(String) });
    expect(tab.complaints).toEqual([]);
  }, 60_000);
});
