import { expect, test } from '@jest/globals';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApi } from '../../api/http/openapi/index.ts';
import { described } from '../../api/resources/openapi/described.ts';
import { routes } from '../../api/resources/routes.gen.ts';
import { installPeer } from '../support/peers/peer-install.ts';
import { describePeer, startProcess } from '../support/peers/peers.ts';
import { type Answer, Client } from '../support/worlds/app.ts';
import { mcpWorld } from '../support/worlds/mcp.ts';
import { HEADS } from '../support/worlds/samples.ts';
import { freePorts } from '../support/wire/ports.ts';

// The public API behind a proxy of others that holds each request and answer against the document.

let folder = '';
const notStarted = () => Promise.reject(new Error('it is started by the test'));
const find = async () => {
  folder = await installPeer('email-apis');
  return { start: notStarted };
};

/** Starts the proxy in front of the product, with the document of the public API. */
async function startProxy(address: string, place: string) {
  const document = openApi(routes, { ...described, prefix: '/public/v1/', version: '1.0.0' });
  const file = join(place, 'openapi.json');
  await writeFile(file, JSON.stringify({ ...document, servers: [{ url: address }] }));
  const [port] = (await freePorts(1)) as [number];
  const url = `http://127.0.0.1:${port}`;
  const node = await readFile(`${folder}/node_modules/.node`, 'utf8');
  const command = `${folder}/node_modules/@stoplight/prism-cli/dist/index.js`;
  const args = [command, 'proxy', file, address, '--host', '127.0.0.1', '--port', String(port)];
  return startProcess('prism', node, args, {
    cwd: place,
    env: { SCARF_ANALYTICS: 'false' },
    probe: async () => {
      await fetch(url); // whatever it answers
      return { url };
    },
  });
}

await describePeer('prism', find, () => {
  test('requests and answers of the public API are what its document says [S267]', async () => {
    const place = await mkdtemp(join(tmpdir(), 'rookery-prism-'));
    await using opened = new AsyncDisposableStack();
    opened.defer(() => rm(place, { recursive: true, force: true }));
    const world = opened.use(await mcpWorld());
    const proxy = opened.use(await startProxy(world.product.address, place));
    const client = new Client(proxy.url);
    client.headers = { authorization: world.key.key };
    const seen: string[] = [];
    const violations: string[] = [];
    const ask = async (method: string, path: string, body?: unknown, headers = {}): Promise<Answer> => {
      const answer = await client.send(method, `/public/v1${path}`, body, headers);
      const told = answer.headers.get('sl-violations');
      seen.push(`${method} ${path} ${answer.status}`);
      if (told !== null) violations.push(`${method} ${path} ${answer.status}: ${told}`);
      return answer;
    };

    for (const path of ['/is-connected', '/me', '/integrations', '/groups', '/tags', '/notifications', '/posts'])
      expect([path, (await ask('GET', path)).status]).toEqual([path, 200]);
    const body = {
      type: 'draft',
      date: '2030-01-01T00:00:00.000Z',
      shortLink: false,
      tags: [],
      posts: [{ integration: { id: world.channelId }, value: [{ content: '<p>Hello</p>', image: [] }], settings: {} }],
    };
    const made = await ask('POST', '/posts', body, { 'idempotency-key': 'through the proxy' });
    expect(made.status).toBe(201);
    const id = made.body[0].postId as string;
    expect((await ask('GET', `/posts/${id}`)).status).toBe(200);
    expect((await ask('PATCH', `/posts/${id}`, { content: '<p>Changed</p>' })).status).toBe(200);
    expect((await ask('GET', `/posts/${id}/timeline`)).status).toBe(200);
    expect((await ask('GET', `/find-slot/${world.channelId}`)).status).toBe(200);
    expect((await ask('POST', '/posts/bulk', { items: [body] })).status).toBe(201);
    expect((await ask('POST', '/tags', { name: 'Ours', color: '#112233' })).status).toBe(201);
    const form = new FormData();
    form.append('file', new Blob([HEADS['png'] as Uint8Array<ArrayBuffer>]), 'a.png');
    await ask('POST', '/upload', form);
    expect((await ask('DELETE', `/posts/${id}`)).status).toBe(200);
    expect((await ask('GET', `/posts/${id}`)).status).toBe(404);
    expect((await ask('GET', '/webhooks')).status).toBe(200);
    expect(seen.length).toBeGreaterThan(17);
    expect(violations).toEqual([]);
    // it does look: what the document does not know is told
    await ask('POST', '/tags', { title: 'Ours' });
    expect(violations).toEqual([expect.stringContaining('POST /tags 400: [{')]);
  }, 180_000);
});
