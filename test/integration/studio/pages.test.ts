import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openOutbound } from '../../../src/platform/outbound/index.ts';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { openPages } from '../../../src/studio/pages/index.ts';

const stack = new AsyncDisposableStack();
let server: Server;
let base: string;
type Answer = { status?: number; type?: string; body?: string | Buffer; location?: string };
const answers = new Map<string, Answer>();
let pages: ReturnType<typeof openPages>;
beforeAll(async () => {
  server = createServer((request, response) => {
    const { status = 200, type = 'text/html; charset=utf-8', body = '', location } = answers.get(request.url!)!;
    response.writeHead(status, { 'content-type': type, ...(location && { location }) });
    response.end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.defer(() => void server.closeAllConnections());
  stack.defer(() => void server.close());
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const outbound = stack.use(openOutbound({ allowedPrivateCidrs: ['127.0.0.1/32'], timeoutMs: 30_000 }));
  pages = openPages({ outbound, clock: systemClock });
});
afterAll(() => stack.disposeAsync());

const read = (answer: Answer, path = '/page') => {
  answers.set(path, answer);
  return pages.read(base + path, new AbortController().signal);
};
const filler = '<p>The hall has forty rooms, and a roof of grass on which bees have lived since the spring.</p>'.repeat(
  5,
);

describe('a page', () => {
  test('is read without what it shows to nobody, with its links', async () => {
    const answered = await read({
      body: `<!doctype html><html><head><title>The roof</title></head><body><nav>Menu</nav><article><h1>Roof</h1>
        <!-- A comment --><script>alert('Script')</script>${filler}<p>Read <a href="/honey">more</a>.</p>
        <a href="javascript:alert(1)">no</a><p style="display:none">Hidden</p><img alt="A picture" src="x.png">
        </article></body></html>`,
    });
    if (!('page' in answered)) throw new Error(answered.reason);
    const { page } = answered;
    expect(page).toMatchObject({ title: 'The roof', url: `${base}/page`, links: [`${base}/honey`] });
    expect(page.text).toContain('The hall has forty rooms');
    expect(page.text).not.toMatch(/Menu|comment|Script|Hidden|picture/);
  });

  test('is read in the letters in which it is written, and where its redirects lead', async () => {
    answers.set('/old', { status: 302, location: '/page' });
    answers.set('/page', { type: 'text/html; charset=iso-8859-1', body: Buffer.from('<p>Caf\xe9</p>', 'latin1') });
    expect(await pages.read(`${base}/old`, new AbortController().signal)).toEqual({
      page: { title: '', text: 'Café', links: [], url: `${base}/page` },
    });
    expect(await read({ type: 'text/plain', body: ' Plain <b>words</b> ' })).toMatchObject({
      page: { text: 'Plain <b>words</b>' },
    });
  });

  test.each<[string, Answer, string]>([
    ['has no text', { body: '<script>1</script><!-- x --><p style="display: none">x</p>' }, 'The page has no text'],
    ['is a picture', { type: 'image/png', body: 'x' }, 'The page is neither HTML nor text'],
    ['is not there', { status: 404, body: filler }, 'The page answered 404'],
    ['is too long', { body: 'x'.repeat(2_000_001) }, 'The page cannot be read: '],
    [
      'leads into a private network',
      { status: 302, location: 'http://10.0.0.1/' },
      'The page cannot be read: Blocked URL',
    ],
  ])('that %s answers why', async (_, answer, reason) => {
    expect(await read(answer)).toEqual({ reason: expect.stringContaining(reason) });
  });

  test('that takes too long to read is given up, and the next one is read', async () => {
    expect(await read({ body: '<div>'.repeat(300_000) })).toEqual({ reason: 'The page takes too long to read' });
    expect(await read({ body: '<p>Good day</p>' })).toMatchObject({ page: { text: 'Good day' } });
  }, 60_000);
});
