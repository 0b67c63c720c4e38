import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Permission, permissionsOf } from '../../../../src/people/access/index.ts';
import { MCP_TOOLS, KEY_SCOPES } from '../../../fixtures/mcp-tools.ts';
import { type Client, type SignedUp, Client as HttpClient } from '../../../support/worlds/app.ts';
import { callOf, type McpWorld, mcpWorld, outcomeOf, rpc, sendRpc } from '../../../support/worlds/mcp.ts';
import { makeApp, tokensFor } from '../../../support/worlds/oauth.ts';

// Every tool × scopes of a credential × role of its owner × what the organization allows, against tables by hand.

const ROLES = ['owner', 'admin', 'editor', 'member', 'viewer'] as const;
const SCOPES = { R: 'mcp:read', W: 'mcp:posts:write' } as const;
const ALLOWED: readonly [string, readonly string[] | null, keys: string][] = [
  ['nothing decided', null, 'RW'],
  ['an empty list', [], ''],
  ['reading', ['mcp:read'], 'R'],
  ['writing', ['mcp:posts:write'], 'W'],
];
const NOBODY = { userId: null, impersonatorId: null, ip: null };

let world: McpWorld;
interface Holder {
  orgId: string;
  /** By what a credential has of itself. */
  credentials: Record<'key' | 'R' | 'RW', Client>;
}
const holders = new Map<string, Holder>();

async function holderOf(owner: SignedUp, role: string): Promise<Holder> {
  const { product } = world;
  const app = await makeApp(owner);
  const tokenOf = async (scope: string) => {
    const client = new HttpClient(product.address);
    client.headers = { authorization: `Bearer ${(await tokensFor(product, owner, app, { scope })).access}` };
    return client;
  };
  const credentials = {
    key: await owner.withKey(),
    R: await tokenOf('mcp:read'),
    RW: await tokenOf('mcp:read mcp:posts:write'),
  };
  await product.db.sql`update memberships set role_key = ${role} where user_id = ${owner.userId}`;
  return { orgId: owner.orgId, credentials };
}

beforeAll(async () => {
  world = await mcpWorld();
  for (const role of ROLES) holders.set(role, await holderOf(await world.product.signUp(), role));
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

const allow = (orgId: string, allowedScopes: readonly string[] | null) =>
  world.product.context.organizations.changeMcpPolicy(orgId, NOBODY, {
    allowedScopes: allowedScopes as never,
    allowProposals: false,
  });
const within = (scopes: string, allowed: string) => [...scopes].filter((one) => allowed.includes(one)).join('');

/** What the tables say of a call with an argument that no tool knows. */
function expected(name: string, role: string, credential: 'key' | 'R' | 'RW', allowed: string): string {
  const { scope, permission } = MCP_TOOLS[name]!;
  const scopes = credential === 'key' ? within(KEY_SCOPES[role]!, allowed) : `R${within(credential, allowed)}`;
  if (!scopes.includes(scope)) return '403 -32003 insufficient_scope';
  return permissionsOf(role, false).has(permission as Permission) ? 'fault unknown_field' : 'fault forbidden';
}

const cases = ALLOWED.flatMap(([what, list, keys]) => ROLES.map((role) => [what, role, list, keys] as const));

test.each(cases)(
  'with %s allowed, each tool takes credentials of a role %s as the tables say [MC8, MC9, MC10, MC11, MC12, MC14, MC15, S200, S201]',
  async (_, role, list, keys) => {
    const { orgId, credentials } = holders.get(role)!;
    await allow(orgId, list);
    const told: string[] = [];
    const wanted: string[] = [];
    for (const [name, { on }] of Object.entries(MCP_TOOLS))
      for (const credential of ['key', 'R', 'RW'] as const) {
        const path = on === 'media' ? '/media-mcp' : '/mcp';
        const answer = await sendRpc(credentials[credential], callOf(name, { an_invented_field: 1 }), path);
        told.push(`${name} ${credential} ${outcomeOf(answer)}`);
        wanted.push(`${name} ${credential} ${expected(name, role, credential, keys)}`);
      }
    expect(told).toEqual(wanted);
  },
  30_000,
);

describe('messages that call no tool', () => {
  const METHODS = ['initialize', 'ping', 'tools/list', 'prompts/list', 'resources/list'];

  test('a key of an organization that allows nothing is refused them all, a token only what it may not do [MC11, MC15, S201]', async () => {
    const { orgId, credentials } = holders.get('owner')!;
    await allow(orgId, []);
    for (const method of METHODS) {
      const params =
        method === 'initialize'
          ? { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
          : {};
      const asked = await sendRpc(credentials.key, rpc(method, params));
      expect([method, outcomeOf(asked)]).toEqual([method, '403 -32003 insufficient_scope']);
      expect(asked.headers.get('www-authenticate')).toBe('Bearer error="insufficient_scope", scope="mcp:read"');
      expect([method, (await sendRpc(credentials.RW, rpc(method, params))).status]).toEqual([method, 200]);
    }
  });

  test('tools/list shows all tools to who may only read [S200]', async () => {
    const { orgId, credentials } = holders.get('viewer')!;
    await allow(orgId, null);
    const { body } = await sendRpc(credentials.R, rpc('tools/list'));
    const names = body.result.tools.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(['create_post', 'delete_post', 'list_posts']));
  });

  test('a call without its scope says which one to get, and a batch with one such call is refused whole [S200]', async () => {
    const { orgId, credentials } = holders.get('editor')!;
    await allow(orgId, null);
    const read = callOf('list_channels');
    const write = callOf('create_post', world.post());
    const answer = await sendRpc(credentials.key, [read, write]);
    expect([answer.status, answer.body]).toEqual([
      403,
      {
        jsonrpc: '2.0',
        id: write.id,
        error: {
          code: -32_003,
          message: expect.stringContaining(SCOPES.W),
          data: expect.objectContaining({ statusCode: 403, code: 'insufficient_scope', scope: SCOPES.W }),
        },
      },
    ]);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer error="insufficient_scope", scope="mcp:posts:write"');
  });
});
