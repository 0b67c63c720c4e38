import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { findBrowser, openTab } from '../../support/peers/browser.ts';
import { installPeer } from '../../support/peers/peer-install.ts';
import { describePeer, type Peer } from '../../support/peers/peers.ts';
import { testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

describe('GET /reference', () => {
  test('is one page for everybody, whose policy runs nothing and loads nothing', async () => {
    const { status, headers, text } = await app.client().get('/reference');
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const policy = headers.get('content-security-policy')!;
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
    );
    expect(text).not.toMatch(/<script|<iframe|<img|<link|\son\w+=|url\(|@import/i);
    expect([...text.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, address]) => address)).toEqual([
      './public/v1/openapi.json',
    ]);
  });

  test('shows each operation of the public document with its path, and each schema that it refers to', async () => {
    const { text } = await app.client().get('/reference');
    const { body } = await app.client().get('/public/v1/openapi.json');
    const ids = Object.entries(body.paths as Record<string, Record<string, { operationId: string }>>).flatMap(
      ([path, methods]) =>
        Object.entries(methods).map(([method, { operationId }]) => ({
          id: operationId,
          title: `${method.toUpperCase()} ${path}`,
        })),
    );
    expect(ids.length).toBeGreaterThan(40);
    expect(
      ids.filter(({ id, title }) => !text.includes(`id="${id}"`) || !text.includes(`<code>${title}</code>`)),
    ).toEqual([]);
    const linked = new Set([...text.matchAll(/href="#([^"]+)"/g)].map(([, place]) => place!));
    expect([...linked].filter((place) => !text.includes(`id="${place}"`))).toEqual([]);
  });

  test.each(['/reference', '/reference/', '/api/reference', '/api/reference/'])(
    'at %s links to the document of the same address',
    async (path) => {
      const { text } = await app.client().get(path);
      const [, link] = /href="([^"#]+openapi\.json)"/.exec(text)!;
      const target = new URL(link!, app.address + path).pathname;
      expect(target).toBe(path.startsWith('/api/') ? '/api/public/v1/openapi.json' : '/public/v1/openapi.json');
      expect((await app.client().get(target)).body.openapi).toBe('3.1.0');
    },
  );

  test('is answered as unchanged to its ETag', async () => {
    const etag = (await app.client().get('/reference')).headers.get('etag')!;
    const { status, text } = await app.client().get('/reference', { 'if-none-match': etag });
    expect([status, text]).toEqual([304, '']);
  });
});

let axe = '';
const findBoth = async () => {
  const folder = await installPeer('openapi');
  axe = await readFile(`${folder}/node_modules/axe-core/axe.min.js`, 'utf8');
  return findBrowser();
};
await describePeer('chromium with axe', findBoth, ({ start }) => {
  let browser: Peer;
  beforeAll(async () => {
    browser = await start();
  }, 120_000);
  afterAll(async () => browser.stop());

  test('axe finds nothing in the page, and the browser no broken policy', async () => {
    await using tab = await openTab(browser.url);
    await tab.goto(`${app.address}/api/reference`);
    await tab.until(`document.readyState === 'complete' && document.querySelector('main h2')`);
    await tab.evaluate(axe);
    const found = await tab.evaluate<{ id: string; nodes: string[] }[]>(
      `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => ({ id, nodes: nodes.slice(0, 3).map(({ html }) => html) })))`,
    );
    expect(found).toEqual([]);
    expect(tab.complaints).toEqual([]);
  }, 120_000);
});
