import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { tools } from '../../../api/mcp/tools.ts';
import { MCP_TOOLS } from '../../fixtures/mcp-tools.ts';
import { describePeer, npmPeer, type Peer } from '../../support/peers/peers.ts';
import { type McpWorld, mcpWorld } from '../../support/worlds/mcp.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { freePort } from '../../support/wire/ports.ts';

// The clients of the protocol's makers: the first line of libraries, and the next one in both of its ways.

let world: McpWorld;
let peer: Peer;
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
  () => npmPeer('mcp'),
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
        const { postId } = results[0].structuredContent.output[0];
        await eventually('the post is out', async () => {
          const post = await world.key.get(`/public/v1/posts/${postId}`);
          return post.body.state === 'PUBLISHED';
        });
      },
    );
  },
);
