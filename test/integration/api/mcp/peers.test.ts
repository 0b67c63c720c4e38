import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { tools } from '../../../../api/mcp/tools.ts';
import { MCP_TOOLS } from '../../../fixtures/mcp-tools.ts';
import { installPeer } from '../../../support/peers/peer-install.ts';
import { newHome, runProgram, startProgram } from '../../../support/peers/peer-program.ts';
import { describePeer, npmPeer, type Peer } from '../../../support/peers/peers.ts';
import { type McpWorld, mcpWorld, rpc } from '../../../support/worlds/mcp.ts';
import { eventually } from '../../../support/wire/eventually.ts';
import { freePort } from '../../../support/wire/ports.ts';

// The clients of the protocol's makers: the first line of libraries, the next one in both of its ways, and the programs
// with which people look at a server and connect assistants that only know programs.

let world: McpWorld;
let peer: Peer;
let folder = '';
beforeAll(async () => {
  const port = await freePort(); // the server names its own address
  world = await mcpWorld({ env: { PORT: String(port), NEXT_PUBLIC_BACKEND_URL: `http://127.0.0.1:${port}` } });
}, 60_000);
afterAll(async () => {
  await peer?.stop();
  await world[Symbol.asyncDispose]();
});

type Steps = readonly ({ does: string } & Record<string, unknown>)[];
// oxlint-disable-next-line typescript/no-explicit-any -- judged by each test
async function ask(path: string, body: object): Promise<any> {
  const response = await fetch(`${peer.url}${path}`, { method: 'POST', body: JSON.stringify(body) });
  const text = await response.text();
  if (response.status !== 200) throw new Error(text);
  return JSON.parse(text);
}
const WAYS: readonly [generation: string, transport: string, path: () => string][] = [
  ['first', 'http', () => '/mcp'],
  ['first', 'sse', () => `/sse/${world.ann.orgId}`],
  ['next', 'http', () => '/mcp'],
  ['next', 'sse', () => `/sse/${world.ann.orgId}`],
  ['modern', 'http', () => '/mcp'],
];

await describePeer(
  'mcp',
  async () => {
    folder = await installPeer('mcp');
    return npmPeer('mcp');
  },
  (found) => {
    beforeAll(async () => {
      peer = await found.start();
    }, 120_000);

    const run = (generation: string, transport: string, path: string, steps: Steps) =>
      ask('/', {
        generation,
        transport,
        url: `${world.product.address}${path}`,
        headers: { authorization: `Bearer ${world.key.key}` },
        steps,
      });

    describe.each(WAYS)('%s by %s', (generation, transport, path) => {
      test('lists tools, creates a post, reads a resource and a prompt [MC1, MC3, S196, S198]', async () => {
        const { server, instructions, results } = await run(generation, transport, path(), [
          { does: 'tools' },
          { does: 'call', name: 'create_post', arguments: world.post() },
          { does: 'call', name: 'create_post', arguments: { socialPost: [] } },
          { does: 'resources' },
          { does: 'read', uri: 'rookery://channels' },
          { does: 'prompts' },
          { does: 'prompt', name: 'plan_week', arguments: { topic: 'Tea' } },
        ]);
        const [listed, created, refused, resources, read, prompts, prompt] = results;
        expect([server.name, instructions]).toEqual(['rookery', expect.stringContaining('list_channels')]);
        expect(listed.map(({ name }: { name: string }) => name)).toEqual(
          expect.arrayContaining(['create_post', 'schedulePostTool']),
        );
        expect(created.structuredContent.output).toEqual([
          { postId: expect.any(String), integration: world.channelId },
        ]);
        expect([refused.isError, refused.structuredContent.code]).toEqual([true, 'validation_failed']);
        expect(resources[0].uri).toBe('rookery://channels');
        expect(JSON.parse(read.contents[0].text).output).toHaveLength(1);
        expect(prompts).toHaveLength(4);
        expect(prompt.messages[0].content.text).toContain('Tea');
      });

      test('calls every tool, and each answers a result that its library takes [S199, S202]', async () => {
        const calls = (on: 'mcp' | 'media') =>
          tools
            .map(({ name }) => name)
            .filter((name) => MCP_TOOLS[name]!.on === on || (on === 'mcp' && MCP_TOOLS[name]!.on === 'both'))
            .map((name) => ({ does: 'call', name, arguments: {} }));
        const results = [
          ...(await run(generation, transport, path(), calls('mcp'))).results,
          ...(transport === 'http' ? (await run(generation, transport, '/media-mcp', calls('media'))).results : []),
        ];
        for (const result of results) expect([result.error, result.content?.[0]?.type]).toEqual([undefined, 'text']);
      });
    });

    test.each(['first', 'next'])(
      '%s comes from a 401 to a published post by what the server says of itself [S94, S96, S97]',
      async (generation) => {
        const redirect = 'http://127.0.0.1:45678/callback';
        const url = `${world.product.address}/mcp`;
        const { state, asked, to, error } = await ask('/login', { generation, url, redirect });
        expect([error.name, new URL(asked).searchParams.get('scope')]).toEqual(['UnauthorizedError', 'mcp:read']);
        for (const address of [asked, to]) {
          const { origin, pathname, searchParams } = new URL(address);
          expect([origin + pathname, searchParams.get('resource')]).toEqual([
            `${world.product.address}/oauth/authorize`,
            url,
          ]);
        }
        const { body } = await world.ann.client.post('/oauth/authorize', {
          ...Object.fromEntries(new URL(to).searchParams),
          action: 'approve',
        });
        const { searchParams: back } = new URL(body.redirect);
        const steps = [{ does: 'call', name: 'create_post', arguments: world.post({ type: 'now' }) }];
        const finish = { state, code: back.get('code'), iss: back.get('iss'), steps };
        const { results, tokens } = await ask('/finish', finish);
        expect(tokens.scope).toBe('mcp:read mcp:posts:write');
        await published(results[0].structuredContent.output[0].postId);
      },
    );

    describe('the inspector', () => {
      const inspect = (path: string, ...words: string[]) =>
        inHome((home) =>
          runProgram(
            `${folder}/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js`,
            ['--cli', world.product.address + path, '--transport', 'http', '--format', 'json', ...words],
            { home },
          ),
        );
      const asAnn = () => ['--header', `Authorization: ${world.key.key}`];

      test.each([
        ['/mcp', 'create_post'],
        ['/media-mcp', 'search_media'],
      ])('finds no fault in the tools of %s, however strict it is', async (path, name) => {
        const { code, stdout, stderr } = await inspect(path, ...asAnn(), '--method', 'tools/list', '--strict');
        expect([code, stderr]).toEqual([0, '']); // what it finds is told there
        const { result, ...others } = JSON.parse(stdout);
        expect(result.tools.map((tool: { name: string }) => tool.name)).toContain(name);
        expect(others).toEqual({});
      });

      test('calls a tool, and the post is published [MC1, S196]', async () => {
        const given = JSON.stringify(world.post({ type: 'now' }).socialPost);
        const call = ['--method', 'tools/call', '--tool-name', 'create_post', '--tool-arg', `socialPost=${given}`];
        const { code, stdout } = await inspect('/mcp', ...asAnn(), ...call);
        expect(code).toBe(0);
        await published(JSON.parse(stdout).result.structuredContent.output[0].postId);
      });
    });

    test('mcp-remote comes from a 401 to a published post, its browser done by hand [S86, S94, S96, S97, S200]', async () => {
      await inHome(async (home) => {
        const script = `${folder}/node_modules/mcp-remote/dist/proxy.js`;
        const words = [`${world.product.address}/mcp`, '--host', '127.0.0.1', '--auth-timeout', '120'];
        await using remote = startProgram(script, words, { home, env: { MCP_REMOTE_CONFIG_DIR: home } });
        const send = async (method: string, params: object) => {
          const request = rpc(method, params);
          remote.write(JSON.stringify(request));
          for (;;) {
            const answer = JSON.parse(await remote.line());
            if (answer.id === request.id) return answer.result;
          }
        };
        const greeted = send('initialize', {
          protocolVersion: '2025-06-18',
          capabilities: {},
          clientInfo: { name: 'assistant', version: '1.0.0' },
        });
        /** Does what a person does whom the program sends to a browser for the n-th time. */
        const approve = async (n: number) => {
          const told = (line: RegExp) => [...remote.complaint().matchAll(line)];
          await eventually('it waits for the browser', () => told(/callback server running/g).length === n);
          await approveInBrowser(told(/visiting:\s+(http\S+)\s/g)[n - 1]![1]!);
        };
        await approve(1);
        expect((await greeted).serverInfo.name).toBe('rookery');
        remote.write(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }));
        expect((await send('tools/list', {})).tools.length).toBeGreaterThan(20);
        // it may only read so far, is told which scope it lacks, and asks for that, too
        const called = send('tools/call', { name: 'create_post', arguments: world.post({ type: 'now' }) });
        await approve(2);
        const { structuredContent } = await called;
        await published(structuredContent.output[0].postId);
      });
    }, 180_000);
  },
);

/** Does something with a folder that is the home of a program. */
async function inHome<T>(work: (home: string) => Promise<T>): Promise<T> {
  const { home, drop } = newHome();
  try {
    return await work(home);
  } finally {
    drop();
  }
}

/** What a person does who is logged in: opens the page, agrees, and goes where the page sends them. */
async function approveInBrowser(address: string): Promise<void> {
  const { ann } = world;
  const url = new URL(address);
  const page = await ann.client.get(url.pathname + url.search, { accept: 'text/html' });
  expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')]);
  const { body } = await ann.client.post('/oauth/authorize', {
    ...Object.fromEntries(url.searchParams),
    action: 'approve',
  });
  const back = await fetch(body.redirect);
  expect([back.status, await back.text()]).toEqual([200, expect.stringContaining('successful')]);
}

const published = (postId: string) =>
  eventually('the post is out', async () => {
    const post = await world.key.get(`/public/v1/posts/${postId}`);
    return post.body.state === 'PUBLISHED';
  });
