import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client } from '../../../support/worlds/app.ts';
import { called, callOf, faultedBy, type McpWorld, mcpWorld, rpc, sendRpc } from '../../../support/worlds/mcp.ts';
import { makeApp, tokensFor } from '../../../support/worlds/oauth.ts';

let world: McpWorld;
beforeAll(async () => {
  world = await mcpWorld();
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

interface Entry {
  action: string;
  userId: string;
  resource: string;
  resourceId: string | null;
  detail: Record<string, string>;
}
const entries = async (query = ''): Promise<Entry[]> =>
  (await world.ann.client.get(`/settings/audit?limit=100${query}`)).body.items.filter(({ action }: Entry) =>
    action.startsWith('agent.'),
  );

test('each call of a tool that writes stands in the audit log before it and with its outcome after it, reading does not', async () => {
  const [{ id: apiKeyId }] = (await world.ann.client.get('/user/api-keys')).body;
  await called(world.key, 'list_channels');
  const made = await called(world.key, 'create_post', world.post());
  const id = made.output[0].postId;
  await called(world.key, 'delete_post', { id });
  await faultedBy(world.key, 'delete_post', { id });
  const noted = (await entries()).toReversed();
  expect(
    noted.map(({ action, resourceId, detail }) => [
      action,
      resourceId,
      'act' in detail,
      detail['outcome'],
      detail['code'],
    ]),
  ).toEqual([
    ['agent.create_post', null, true, 'done', undefined],
    ['agent.create_post', null, false, 'done', undefined],
    ['agent.delete_post', id, true, 'done', undefined],
    ['agent.delete_post', id, false, 'done', undefined],
    ['agent.delete_post', id, true, 'refused', undefined],
    ['agent.delete_post', id, false, 'refused', 'not_found'],
  ]);
  for (const { userId, resource, detail } of noted)
    expect([userId, resource, detail['credential'], detail['program']]).toEqual([
      world.ann.userId,
      'posts',
      apiKeyId,
      'test',
    ]);
  expect(JSON.stringify(noted)).not.toContain('Hello');
});

test('a call that was cut off reads unknown', async () => {
  const before = (await entries())[0]!;
  await world.product.db.sql`
    insert into audit_log (org_id, user_id, ip, action, resource, detail)
    values (${world.ann.orgId}, ${world.ann.userId}, '127.0.0.1', 'agent.create_post', 'posts',
      ${world.product.db.sql.json({ ...before.detail, act: 'cut-off', ends: undefined as never })})`;
  expect((await entries())[0]!.detail).toMatchObject({ act: 'cut-off', outcome: 'unknown' });
});

test('the log can be read by a key or an approved app, and names what the program calls itself', async () => {
  const token = new Client(world.product.address);
  token.headers = {
    authorization: `Bearer ${(await tokensFor(world.product, world.ann, await makeApp(world.ann))).access}`,
  };
  const [approval] = (await world.ann.client.get('/user/approved-apps')).body;
  const message = callOf('create_post', world.post());
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'create_post' };
  const told = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'Robot\u202e', version: '7' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  await sendRpc(token, { ...message, params: { ...message.params, _meta: told } }, '/mcp', headers);
  await sendRpc(token, callOf('create_post', world.post()), '/mcp', { 'user-agent': 'old-robot/1' });
  const noted = await entries(`&credential=${approval.id}`);
  expect(noted.map(({ detail }) => [detail['client'], detail['program'], detail['credential']])).toEqual([
    ...Array.from({ length: 2 }, () => ['old-robot/1', 'Scheduler', approval.id]),
    ...Array.from({ length: 2 }, () => ['Robot 7', 'Scheduler', approval.id]),
  ]);
  expect(await entries('&credential=nobody')).toEqual([]);
  expect((await sendRpc(token, rpc('ping'))).status).toBe(200);
});
