import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client } from '../../../support/worlds/app.ts';
import { subscribe, WITH_BILLING } from '../../../support/worlds/billing.ts';
import {
  called,
  callOf,
  faultedBy,
  type McpWorld,
  mcpWorld,
  outcomeOf,
  rpc,
  sendRpc,
} from '../../../support/worlds/mcp.ts';
import { makeApp, tokensFor } from '../../../support/worlds/oauth.ts';
import { wholeProduct } from '../../../support/worlds/product.ts';

describe('limits of calls', () => {
  let world: McpWorld;
  beforeAll(async () => {
    world = await mcpWorld({ env: { RATE_LIMIT_SCALE: '1' } });
  }, 60_000);
  afterAll(() => world[Symbol.asyncDispose]());

  test('each tool has a bucket of its own on all surfaces, its alias the same, and all other messages one [S17]', async () => {
    const bob = await world.product.signUp();
    const key = await bob.withKey();
    const { cache } = world.product.context;
    for (const name of ['mcp', 'mcp video_options', 'mcp list_groups'])
      // all but six calls of this hour
      await Promise.all(Array.from({ length: 594 }, () => cache.hit(`${name}|org:${bob.orgId}`, 600, 3_600_000)));
    const left = async (message: unknown, path?: string) => {
      const { status, headers } = await sendRpc(key, message, path);
      return status === 200 ? Number(headers.get('x-ratelimit-remaining')) : status;
    };
    expect(await left(callOf('video_options'))).toBe(5);
    expect(await left(callOf('generateVideoOptions'))).toBe(4);
    expect(await left(callOf('video_options'), '/media-mcp')).toBe(3);
    expect(await left(rpc('ping'))).toBe(5);
    expect(await left(callOf('no_such_tool'))).toBe(4);
    expect(await left(rpc('tools/list'), '/media-mcp')).toBe(3);
    expect(await left([callOf('video_options'), callOf('video_options')])).toBe(1);
    expect(await left(callOf('video_options'))).toBe(0);
    const refused = await sendRpc(key, callOf('video_options'));
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await left(callOf('list_groups'))).toBe(5);
  });
});

describe('plans', () => {
  test('a plan without MCP is refused every message by 402, one without a subscription by 401 [LM7, S58]', async () => {
    await using product = await wholeProduct({
      env: { ...WITH_BILLING, FRONTEND_URL: 'https://app.example/console' },
    });
    await product.signUp();
    const ann = await product.signUp();
    await subscribe(product.db.sql, ann.orgId, { tier: 'PRO' });
    const key = await ann.withKey();
    const token = new Client(product.address);
    token.headers = { authorization: `Bearer ${(await tokensFor(product, ann, await makeApp(ann))).access}` };
    for (const client of [key, token]) expect((await called(client, 'list_groups')).output).toEqual([]);
    await subscribe(product.db.sql, ann.orgId, { tier: 'STARTER' });
    const refused = async (client: Client, message: unknown, path?: string) => {
      for (let n = 0; n < 40; n += 1) {
        const answer = await sendRpc(client, message, path);
        if (answer.status !== 200) return answer;
        await new Promise((resolve) => setTimeout(resolve, 50)); // a change elsewhere is seen within a second
      }
      throw new Error('It was never refused');
    };
    for (const client of [key, token])
      for (const path of ['/mcp', `/mcp/${ann.orgId}`, '/media-mcp']) {
        const answer = await refused(client, rpc('tools/list'), path);
        expect([answer.status, answer.body.error]).toEqual([
          402,
          {
            code: -32_004,
            message: 'Your plan does not include MCP',
            data: expect.objectContaining({
              statusCode: 402,
              code: 'plan_required',
              url: 'https://app.example/console/billing',
            }),
          },
        ]);
        expect(outcomeOf(await sendRpc(client, callOf('search_media'), path))).toBe('402 -32004 plan_required');
      }
    expect((await key.get(`/sse/${ann.orgId}`)).body.code).toBe('plan_required');
    await product.db.sql`delete from subscriptions where org_id = ${ann.orgId}`;
    const none = await refused(key, rpc('ping')).then(async (first) => {
      for (let n = 0; n < 40 && first.status === 402; n += 1) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        first = await sendRpc(key, rpc('ping'));
      }
      return first;
    });
    expect([none.status, none.body.code]).toEqual([401, 'no_subscription']);
  }, 60_000);

  test('a limit of the plan is a fault of the tool, with the words of its route [S202]', async () => {
    await using world = await mcpWorld();
    const { key, product, ann } = world;
    const refusal = { statusCode: 403, code: 'forbidden' };
    await product.db.sql`update memberships set role_key = 'viewer' where user_id = ${ann.userId}`;
    expect(await faultedBy(key, 'preflight_post', world.post())).toMatchObject(refusal);
  }, 60_000);
});
