import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { request } from 'node:http';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { MCP_TOOLS } from '../../../fixtures/mcp-tools.ts';
import { Client } from '../../../support/worlds/app.ts';
import { called, callOf, type McpWorld, mcpWorld, outcomeOf, rpc, sendRpc } from '../../../support/worlds/mcp.ts';
import { makeApp, tokensFor } from '../../../support/worlds/oauth.ts';

let world: McpWorld;
let lines: string[];
beforeAll(async () => {
  lines = [];
  world = await mcpWorld({ level: 'debug', write: (line) => void lines.push(line) });
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

const withAuthorization = (authorization?: string) => {
  const client = new Client(world.product.address);
  if (authorization !== undefined) client.headers = { authorization };
  return client;
};
const bearer = async (more: object = {}) => {
  const app = await makeApp(world.ann).catch(() => undefined);
  const client = app ?? known!;
  known = client;
  return withAuthorization(`Bearer ${(await tokensFor(world.product, world.ann, client, { ...more })).access}`);
};
let known: Awaited<ReturnType<typeof makeApp>> | undefined;
const initialize = (protocolVersion: string) =>
  rpc('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } });
const namesOn = async (path: string, client: Client = world.key): Promise<string[]> => {
  const { body } = await sendRpc(client, rpc('tools/list'), path);
  return body.result.tools.map(({ name }: { name: string }) => name);
};
const namesByHand = (on: 'mcp' | 'media') =>
  Object.entries(MCP_TOOLS)
    .filter(([, tool]) => tool.on === on || tool.on === 'both')
    .flatMap(([name, { alias }]) => [name, ...(alias === undefined ? [] : [alias])]);

/** A message of the newest revision, with the headers that it needs. */
const modern = (method: string, params: object = {}) => ({
  message: rpc(method, {
    ...params,
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  }),
  headers: {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...('name' in params && { 'mcp-name': String(params.name) }),
  },
});

describe('the surfaces', () => {
  test('/mcp and /mcp/:id list the tools for publishing with their aliases, /media-mcp those for media and none that publishes [MC1, MC2, MC4, S199, AU8]', async () => {
    for (const path of ['/mcp', '/api/mcp', `/mcp/${world.ann.orgId}`, `/mcp/${world.key.key}`])
      expect((await namesOn(path)).toSorted()).toEqual(namesByHand('mcp').toSorted());
    expect((await namesOn('/media-mcp')).toSorted()).toEqual(namesByHand('media').toSorted());
    for (const name of ['create_post', 'delete_post', 'list_posts'])
      expect(outcomeOf(await sendRpc(world.key, callOf(name), '/media-mcp'))).toBe('200 -32602');
  });

  test.each(['2024-10-07', '2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
    'initialize agrees on revision %s and answers JSON [S196]',
    async (revision) => {
      const { status, body, headers } = await sendRpc(world.key, initialize(revision));
      expect([status, body.result?.protocolVersion, headers.get('content-type')]).toEqual([
        200,
        revision,
        'application/json; charset=utf-8',
      ]);
      const listed = await sendRpc(world.key, rpc('tools/list'), '/mcp', { 'mcp-protocol-version': revision });
      expect([listed.status, listed.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    },
  );

  test('revision 2026-07-28 is served by its headers, without a handshake, as JSON [S196]', async () => {
    for (const [method, params] of [
      ['server/discover', {}],
      ['tools/list', {}],
      ['tools/call', { name: 'list_channels', arguments: {} }],
      ['resources/list', {}],
    ] as const) {
      const { message, headers } = modern(method, params);
      const answer = await sendRpc(world.key, message, '/mcp', headers);
      expect([method, answer.status, answer.headers.get('content-type')]).toEqual([
        method,
        200,
        'application/json; charset=utf-8',
      ]);
      expect(answer.body.result).toBeDefined();
    }
    const { message, headers } = modern('tools/list');
    const disagreeing = await sendRpc(world.key, message, '/mcp', { ...headers, 'mcp-method': 'tools/call' });
    expect([disagreeing.status, disagreeing.body.error.code]).toEqual([400, -32_020]);
    const listen = modern('subscriptions/listen', { notifications: {} });
    const refused = await sendRpc(world.key, listen.message, '/mcp', listen.headers);
    expect([refused.status, refused.body.error.code]).toEqual([404, -32_601]);
  });

  test('only POST is taken [S196]', async () => {
    for (const path of ['/mcp', `/mcp/${world.ann.orgId}`, '/media-mcp'])
      for (const method of ['GET', 'DELETE', 'PUT'])
        expect([path, method, (await world.key.send(method, path)).status]).toEqual([path, method, 405]);
  });

  test('a client that asks for JSON alone, or for nothing, gets its answer [S196]', async () => {
    for (const accept of ['application/json', '*/*', undefined])
      expect((await world.key.post('/mcp', rpc('ping'), { accept })).body.result).toEqual({});
  });
});

describe('credentials', () => {
  test('keys and tokens open every surface; nothing, a session or its cookie opens none [MC3, MC5, AU8]', async () => {
    const token = await bearer();
    for (const path of ['/mcp', `/mcp/${world.ann.orgId}`, '/media-mcp']) {
      for (const client of [world.key, token])
        expect([path, (await sendRpc(client, rpc('tools/list'), path)).status]).toEqual([path, 200]);
      for (const client of [withAuthorization(), world.ann.client, withAuthorization('Bearer pos_x')])
        expect([path, (await sendRpc(client, rpc('tools/list'), path)).status]).toEqual([path, 401]);
    }
    for (const client of [withAuthorization(), world.ann.client])
      expect((await client.get(`/sse/${world.ann.orgId}`)).status).toBe(401);
  });

  test('a 401 of /mcp and /media-mcp says where to get a token, one with a path of its own does not [S96, S197]', async () => {
    const { backendUrl } = world.product.context.config.http;
    for (const [path, document] of [
      ['/mcp', '/mcp'],
      ['/media-mcp', '/media-mcp'],
      ['/api/mcp', '/api/mcp'],
    ] as const) {
      const { status, headers, body } = await sendRpc(withAuthorization(), rpc('ping'), path);
      expect([status, body.code]).toEqual([401, 'unauthenticated']);
      expect(headers.get('www-authenticate')).toBe(
        `Bearer resource_metadata="${backendUrl}/.well-known/oauth-protected-resource${document}", scope="mcp:read"`,
      );
      const metadata = await world.product.client().get(`/.well-known/oauth-protected-resource${document}`);
      expect(metadata.body).toEqual({
        resource: `${backendUrl}${document}`,
        authorization_servers: [backendUrl],
        scopes_supported: ['mcp:read', 'mcp:posts:write'],
        bearer_methods_supported: ['header'],
      });
    }
    for (const path of [`/mcp/${world.ann.orgId}`, `/mcp/pm_live_${'A'.repeat(43)}`]) {
      const answer = await sendRpc(withAuthorization(), rpc('ping'), path);
      expect([path, answer.status, answer.headers.get('www-authenticate')]).toEqual([path, 401, null]);
    }
    for (const path of ['', '/sse', '/mcp/x', `/${world.ann.orgId}/mcp`])
      expect((await world.product.client().get(`/.well-known/oauth-protected-resource${path}`)).status).toBe(404);
    expect((await withAuthorization().get('/public/v1/is-connected')).headers.get('www-authenticate')).toBeNull();
  });

  test('a token for a surface opens that one alone, and one for /mcp its paths too [S97]', async () => {
    const { backendUrl } = world.product.context.config.http;
    const publishing = await bearer({ resource: `${backendUrl}/mcp` });
    const media = await bearer({ resource: `${backendUrl}/media-mcp` });
    const statuses = async (client: Client) =>
      Promise.all(
        ['/mcp', `/mcp/${world.ann.orgId}`, '/media-mcp'].map(
          async (path) => (await sendRpc(client, rpc('ping'), path)).status,
        ),
      );
    expect(await statuses(publishing)).toEqual([200, 200, 401]);
    expect(await statuses(media)).toEqual([401, 401, 200]);
    expect((await publishing.get('/public/v1/is-connected')).status).toBe(401);
  });

  test('an org id in the path is that of the credential, or the request is 404; a super-admin’s key may name any [MC13, S197]', async () => {
    const eve = await world.product.signUp();
    const eveKey = await eve.withKey();
    const token = await bearer();
    for (const client of [eveKey, token])
      for (const id of [newId(), client === token ? eve.orgId : world.ann.orgId, 'x'])
        expect((await sendRpc(client, rpc('tools/list'), `/mcp/${id}`)).status).toBe(404);
    await world.product.db.sql`update users set is_super_admin = true where id = ${eve.userId}`;
    const admin = await eve.withKey();
    const { output } = await called(admin, 'list_channels', {}, `/mcp/${world.ann.orgId}`);
    expect(output.map(({ id }: { id: string }) => id)).toEqual([world.channelId]);
    const made = await called(admin, 'create_post', world.post(), `/mcp/${world.ann.orgId}`); // as an owner would
    const id = made.output[0].postId;
    expect((await called(world.key, 'get_post', { id })).organizationId).toBe(world.ann.orgId);
    expect((await sendRpc(admin, rpc('tools/list'), `/mcp/${newId()}`)).status).toBe(404);
    // no member there, and none any more: a membership decides again
    await world.product.db.sql`
      insert into memberships (org_id, user_id, role_key)
      values (${world.ann.orgId}, ${eve.userId}, 'viewer')`;
    expect(outcomeOf(await sendRpc(admin, callOf('create_post', world.post()), `/mcp/${world.ann.orgId}`))).toBe(
      '403 -32003 insufficient_scope',
    );
    await world.product.db.sql`
      update memberships set disabled = true where org_id = ${world.ann.orgId} and user_id = ${eve.userId}`;
    expect((await sendRpc(admin, rpc('tools/list'), `/mcp/${world.ann.orgId}`)).status).toBe(404);
  });

  test('a key in the path works without a header, and stands in no log, metric or refusal [S197, S12]', async () => {
    const { key } = world.key;
    const nobody = withAuthorization();
    const answer = await sendRpc(nobody, rpc('tools/list'), `/mcp/${key}`);
    expect(answer.status).toBe(200);
    const told = [answer.text];
    for (const [method, path] of [
      ['GET', `/mcp/${key}`],
      ['POST', `/mcp/${key}x`],
      ['POST', `/api/mcp/${key}/more`],
      ['POST', `/message/${key}?sessionId=x`],
    ] as const)
      told.push((await nobody.send(method, path, method === 'POST' ? rpc('ping') : undefined)).text);
    told.push((await sendRpc(nobody, { jsonrpc: '2.0', id: 1, method: 5 }, `/mcp/${key}`)).text);
    const metrics = await world.product.context.metrics.text();
    expect([...told, ...lines, metrics].filter((text) => text.includes(key.slice(8)))).toEqual([]);
    expect(lines.some((line) => line.includes('/mcp/:id'))).toBe(true);
  });

  test('Host must be a name of the service, and on this machine Origin too; the credential is not looked at before [S196]', async () => {
    const send = (headers: Record<string, string>) =>
      new Promise<{ status: number; text: string }>((resolve, reject) => {
        const sent = request(
          `${world.product.address}/mcp`,
          { method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
          (response) => {
            let text = '';
            response.on('data', (data: Buffer) => (text += data.toString()));
            response.on('end', () => resolve({ status: response.statusCode!, text }));
          },
        );
        sent.on('error', reject);
        sent.end(JSON.stringify(rpc('ping')));
      });
    const { host } = new URL(world.product.address);
    const authorization = world.key.key;
    expect((await send({ host, authorization })).status).toBe(200);
    expect((await send({ host: 'localhost', authorization })).status).toBe(200);
    for (const other of ['evil.example', '10.1.2.3', 'localhost.evil.example'])
      expect([other, (await send({ host: other })).status]).toEqual([other, 403]);
    expect((await send({ host, authorization, origin: 'http://localhost:6274' })).status).toBe(200);
    const foreign = await send({ host, authorization, origin: 'https://evil.example' });
    expect([foreign.status, JSON.parse(foreign.text).code]).toEqual([403, 'origin_not_allowed']);
  });
});

describe('bad input', () => {
  test('what is no message gets the body of every refusal, what is one an answer of the protocol, never 5xx', async () => {
    const twice = rpc('ping');
    const cases: [unknown, number][] = [
      ['{', 400],
      ['"x"', 400],
      [[], 400],
      [{}, 400],
      [{ jsonrpc: '1.0', id: 1, method: 'ping' }, 400],
      [{ jsonrpc: '2.0', id: 1, method: 5 }, 400],
      [Array.from({ length: 101 }, () => rpc('ping')), 400],
      [[twice, twice], 400],
      [initialize('1999-01-01'), 200],
      [rpc('no/such/method'), 200],
      [callOf('no_such_tool'), 200],
      [rpc('tools/call', {}), 200],
      [rpc('resources/read', { uri: 'file:///etc/passwd' }), 200],
      [rpc('prompts/get', { name: 'nothing' }), 200],
      [{ jsonrpc: '2.0', method: 'notifications/initialized' }, 202],
      [{ jsonrpc: '2.0', id: 1, result: {} }, 202],
    ];
    for (const [message, wanted] of cases) {
      const { status, body, text } = await sendRpc(world.key, message);
      expect([message, status, text.slice(0, 200)]).toEqual([message, wanted, expect.any(String)]);
      if (status === 400) expect(body.code ?? body.error.code).toBeDefined();
      if (status === 200 && (message as { method: string }).method !== 'initialize')
        expect([message, body.error?.code]).toEqual([message, expect.any(Number)]);
    }
    expect((await world.key.post('/mcp', 'x'.repeat(2_000_001))).status).toBe(413);
    expect((await sendRpc(world.key, callOf('list_groups', { cursor: 'x'.repeat(2_000_000) }))).status).toBe(413);
    const thousand = await sendRpc(
      world.key,
      Array.from({ length: 1_000 }, () => callOf('list_groups')),
    );
    expect([thousand.status, thousand.body.code]).toEqual([400, 'validation_failed']);
    const { message, headers } = modern('tools/call', { name: 'list_groups', arguments: {} });
    const other = await sendRpc(world.key, message, '/mcp', { ...headers, 'mcp-name': 'delete_post' });
    expect([other.status, other.body.error.code]).toEqual([400, -32_020]);
    const future = await sendRpc(world.key, message, '/mcp', { ...headers, 'mcp-protocol-version': '2099-01-01' });
    expect([future.status, future.body.error.code]).toEqual([400, expect.any(Number)]);
    expect((await world.key.post('/mcp', rpc('ping'), { 'content-type': 'text/plain' })).status).toBe(415);
    const unknown = await sendRpc(world.key, rpc('ping'), '/mcp', { 'mcp-protocol-version': '1999-01-01' });
    expect(unknown.status).toBe(400);
  });

  test('wrong input of a tool is a result that names the field, and an unknown tool is none [S202]', async () => {
    const { body } = await sendRpc(world.key, callOf('create_post', { socialPost: [{ integrationId: 1, x: 2 }] }));
    expect(body.result.isError).toBe(true);
    const fields = body.result.structuredContent.errors.map(({ field }: { field: string }) => field);
    expect(fields).toEqual(expect.arrayContaining(['socialPost.0.x', 'socialPost.0.integrationId']));
    expect(JSON.parse(body.result.content[0].text)).toEqual(body.result.structuredContent);
  });
});
