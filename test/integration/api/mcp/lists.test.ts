import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { daysAgo, seedChannel, seedDays, seedPost } from '../../../support/worlds/analytics.ts';
import { called, callOf, faultedBy, type McpWorld, mcpWorld, rpc, sendRpc } from '../../../support/worlds/mcp.ts';

// Lists that are longer than an answer: each part has 25 kB at most, says that the list goes on, and nothing is left out.

let world: McpWorld;
let postId = '';
beforeAll(async () => {
  world = await mcpWorld();
  const { product, ann, key, channelId } = world;
  postId = (await called(key, 'create_post', world.post())).output[0].postId;
  const { sql } = product.db;
  await sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    select gen_random_uuid(), org_id, provider_id, provider_version, n::text, ${'x'.repeat(400)} || n, credentials
    from channels, generate_series(1, 120) n
    where id = ${channelId}`;
  await sql`
    insert into post_timeline (org_id, post_id, kind, message)
    select ${ann.orgId}, ${postId}, 'failed', n || ${'x'.repeat(900)}
    from generate_series(1, 60) n`;
  await sql`
    insert into files (id, org_id, name, original_name, storage_key, alt, kind, mime, bytes)
    select gen_random_uuid(), ${ann.orgId}, n || '.png', n || '.png', 'lists/' || n, ${'x'.repeat(3_000)}, 'image',
      'image/png', 1
    from generate_series(1, 40) n`;
  await sql`
    insert into brand_kits (id, org_id, name)
    select gen_random_uuid(), ${ann.orgId}, n || ${'é'.repeat(200)}
    from generate_series(1, 130) n`;
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

type Output = Record<string, unknown>;
/** Every part of a list, until it ends; each is checked against the size, and for what is said of the next one. */
async function partsOf(tool: string, input: object, listOf: (output: Output) => unknown[], path = '/mcp') {
  const parts: unknown[][] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const message = callOf(tool, { ...input, ...(cursor !== undefined && { cursor }) });
    const { result } = (await sendRpc(world.key, message, path)).body;
    const list = listOf(result.structuredContent);
    expect(Buffer.byteLength(JSON.stringify(list))).toBeLessThan(26_000);
    parts.push(list);
    cursor = result.structuredContent.nextCursor;
    const words = result.content.map(({ text }: { text: string }) => text).join('\n');
    expect(words.includes('The list goes on')).toBe(cursor !== null);
    expect(parts.length).toBeLessThan(20);
  }
  return parts;
}
const numbered = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);
const numberOf = (text: string) => Number.parseInt(text, 10);

test('list_posts refuses a range that ends before it starts, by the name of its field [S6, S202]', async () => {
  const range = { startDate: '2031-06-01T00:00:00Z', endDate: '2031-05-01T00:00:00Z' };
  expect(await faultedBy(world.key, 'list_posts', range)).toMatchObject({
    code: 'validation_failed',
    errors: [{ field: 'endDate', rule: 'too_small' }],
  });
});

describe('a list that is longer than an answer', () => {
  test('list_channels', async () => {
    const parts = await partsOf('list_channels', {}, ({ output }) => output as unknown[]);
    expect(parts.length).toBeGreaterThan(1);
    expect(new Set(parts.flat().map((one) => (one as { id: string }).id)).size).toBe(121);
  });

  test('post_timeline goes on with what came later, explain_failure with what came before', async () => {
    const numbersIn = (list: unknown[]) =>
      (list as { kind: string; message: string }[])
        .filter(({ kind }) => kind === 'failed')
        .map(({ message }) => numberOf(message));
    const parts = await partsOf('post_timeline', { id: postId }, ({ items }) => items as unknown[]);
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.flatMap(numbersIn)).toEqual(numbered(1, 60));
    const explained = await partsOf('explain_failure', { id: postId }, ({ timeline }) => timeline as unknown[]);
    expect(explained.length).toBe(parts.length);
    expect(numbersIn(explained[0]!).at(-1)).toBe(60);
    expect(explained.toReversed().flatMap(numbersIn)).toEqual(numbered(1, 60));
  });

  test('search_media goes on within a page and over pages, and takes a page, too', async () => {
    const parts = await partsOf('search_media', {}, ({ results }) => results as unknown[], '/media-mcp');
    expect(parts.length).toBeGreaterThan(3);
    expect(new Set(parts.flat().map((one) => (one as { id: string }).id)).size).toBe(40);
    const third = await called(world.key, 'search_media', { page: 3 }, '/media-mcp');
    expect(third).toMatchObject({ pages: 3, total: 40, nextCursor: null });
    expect(third.results).toHaveLength(4);
  });

  test('the numbers of a channel and of a post, a metric at a time', async () => {
    const { product, ann, key } = world;
    const { sql } = product.db;
    const { orgId } = ann;
    const channelId = await seedChannel(sql, orgId);
    const days = Array.from({ length: 548 }, (_, n) => n + 1);
    const values = Object.fromEntries(days.map((ago) => [ago, 1_000_000 + ago]));
    for (const metric of ['views', 'likes', 'comments']) await seedDays(sql, { orgId, channelId, metric, values });
    const input = { integrationId: channelId, date: 548 };
    const parts = await partsOf('get_channel_analytics', input, ({ output }) => output as unknown[]);
    expect(parts.length).toBeGreaterThan(1);
    const all = (await key.get(`/public/v1/analytics/${channelId}?date=548`)).body;
    expect(parts.flat()).toEqual(all);
    for (const date of ['2', '"2"']) {
      const { output } = await called(key, 'get_channel_analytics', { integrationId: channelId, date });
      expect(output).toEqual((await key.get(`/public/v1/analytics/${channelId}?date=2`)).body);
    }
    for (const date of ['0', 549, '', 'two'])
      expect(await faultedBy(key, 'get_channel_analytics', { integrationId: channelId, date })).toMatchObject({
        code: 'validation_failed',
        errors: [{ field: 'date' }],
      });
    const published = await seedPost(sql, { orgId, channelId, ago: 549 });
    await sql`
      insert into analytics_post_days (org_id, channel_id, post_id, date, counts)
      select ${orgId}, ${channelId}, ${published}, d::date, '{"likes": 1000000, "comments": 1000000}'
      from unnest(${days.map(daysAgo)}::text[]) d`;
    const ofPost = await partsOf(
      'get_post_analytics',
      { id: published, date: 548 },
      ({ output }) => output as unknown[],
    );
    expect(ofPost.length).toBeGreaterThan(1);
    expect(ofPost.flat()).toEqual((await key.get(`/public/v1/analytics/post/${published}?date=548`)).body);
  });

  test.each([
    ['list_channels', {}, '/mcp'],
    ['post_timeline', { id: 1 }, '/mcp'],
    ['search_media', {}, '/media-mcp'],
  ])('%s refuses a cursor that none of its answers has', async (tool, input, path) => {
    const given = 'id' in input ? { id: postId } : {};
    expect((await faultedBy(world.key, tool, { ...given, cursor: 'x' }, path)).errors[0].field).toBe('cursor');
  });

  test('is read as a resource to its end', async () => {
    for (const [uri, path, name, count] of [
      ['rookery://brand-kits', '/mcp', 'items', 130],
      ['rookery://media', '/media-mcp', 'results', 40],
      [`rookery://posts/${postId}/timeline`, '/mcp', 'items', 61],
    ] as const) {
      const seen: unknown[] = [];
      let query = '';
      for (let parts = 0; query !== undefined && parts < 20; parts += 1) {
        const { result } = (await sendRpc(world.key, rpc('resources/read', { uri: `${uri}${query}` }), path)).body;
        const answer = JSON.parse(result.contents[0].text);
        seen.push(...answer[name]);
        if (answer.nextCursor === null) break;
        query = `?cursor=${encodeURIComponent(answer.nextCursor)}`;
      }
      expect([uri, seen.length >= count]).toEqual([uri, true]);
      const { resourceTemplates } = (await sendRpc(world.key, rpc('resources/templates/list'), path)).body.result;
      if (!uri.includes('posts/'))
        expect(resourceTemplates).toContainEqual(expect.objectContaining({ uriTemplate: `${uri}{?cursor}` }));
    }
  });
});
