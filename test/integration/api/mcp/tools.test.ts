import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { listTools } from '../../../../api/mcp/catalog.ts';
import { tools } from '../../../../api/mcp/tools.ts';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { MCP_TOOLS } from '../../../fixtures/mcp-tools.ts';
import { type SignedUp, testApp } from '../../../support/worlds/app.ts';
import { called, callOf, faultedBy, type McpWorld, mcpWorld, sendRpc } from '../../../support/worlds/mcp.ts';
import { picture } from '../../../support/worlds/samples.ts';
import { eventually } from '../../../support/wire/eventually.ts';

let world: McpWorld;
let fileId: string;
beforeAll(async () => {
  world = await mcpWorld();
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(await picture(20, 10))], { type: 'image/png' }), 'lake.png');
  fileId = (await world.key.post('/public/v1/upload', form)).body.id;
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

const later = (ms = 3_600_000) => new Date(Date.now() + ms).toISOString();
const create = async (more: object = {}): Promise<string> =>
  (await called(world.key, 'create_post', world.post(more))).output[0].postId;

describe('the list of tools', () => {
  type Schema = Record<string, unknown>;
  const isObject = (value: unknown): value is Schema => typeof value === 'object' && value !== null;
  /** The keys of a schema that strict clients refuse, with their place. */
  const faultsOf = (schema: unknown, at = ''): string[] =>
    !isObject(schema)
      ? []
      : Object.entries(schema).flatMap(([key, value]) => [
          ...(['$ref', 'oneOf', 'const', 'prefixItems', '$defs'].includes(key) ? [`${at}/${key}`] : []),
          ...(key === 'type' && Array.isArray(value) ? [`${at}/${key}`] : []),
          ...faultsOf(value, `${at}/${key}`),
        ]);
  const isTyped = (schema: Schema): boolean =>
    typeof schema['type'] === 'string' || (Array.isArray(schema['anyOf']) && schema['anyOf'].every(isTyped));
  /** The properties of an input, at any depth, that lack a type or a description. */
  const poor = (schema: Schema, at: string): string[] =>
    Object.entries((schema['properties'] ?? {}) as Record<string, Schema>).flatMap(([name, one]) => {
      const place = `${at}.${name}`;
      const items = isObject(one['items']) ? poor(one['items'], `${place}.*`) : [];
      return [
        ...(isTyped(one) && typeof one['description'] === 'string' ? [] : [place]),
        ...(one['type'] === 'array' && !isTyped((one['items'] ?? {}) as Schema) ? [`${place}.*`] : []),
        ...items,
        ...poor(one, place),
      ];
    });

  test.each(['mcp', 'media-mcp'] as const)('%s suits strict clients and is as the table by hand says', (surface) => {
    const listed = listTools(surface);
    expect(listed.length).toBeLessThanOrEqual(40);
    for (const { name, inputSchema, outputSchema, annotations, description } of listed) {
      expect(name).toMatch(/^[a-zA-Z0-9_]{1,64}$/);
      expect(description).toMatch(/^[A-Z].*\.$/);
      expect([name, inputSchema['type'], outputSchema['type']]).toEqual([name, 'object', 'object']);
      expect([name, faultsOf(inputSchema), faultsOf(outputSchema)]).toEqual([name, [], []]);
      expect([name, poor(inputSchema, '')]).toEqual([name, []]);
      const found = tools.find((tool) => tool.name === name || tool.alias === name)!;
      expect(annotations).toMatchObject(
        MCP_TOOLS[found.name]!.scope === 'R' ? { readOnlyHint: true } : { destructiveHint: true, readOnlyHint: false },
      );
    }
  });

  test.each(['mcp', 'media-mcp'] as const)('%s lists each tool that its descriptions send to', (surface) => {
    const listed = listTools(surface);
    const names = new Set(tools.flatMap(({ name, alias }) => [name, alias]));
    const words = new Set([...JSON.stringify(listed).matchAll(/`(\w+)`/g)].map(([, word]) => word));
    expect(words).toContain('media_job_status');
    const here = new Set(listed.map(({ name }) => name));
    expect([...words].filter((word) => names.has(word) && !here.has(word!))).toEqual([]);
  });

  test('every tool stands in the table by hand, with its alias', () => {
    expect(tools.map(({ name, alias }) => [name, alias])).toEqual(
      expect.arrayContaining(Object.entries(MCP_TOOLS).map(([name, { alias }]) => [name, alias])),
    );
    expect(tools.length).toBe(Object.keys(MCP_TOOLS).length);
  });
});

describe('tools and routes answer the same', () => {
  test('reading tools answer what the routes of the same data answer, and their text says it too', async () => {
    const { key, ann, channelId } = world;
    const id = await create({ type: 'schedule', date: later() });
    const get = async (path: string) => (await key.get(`/public/v1${path}`)).body;
    const ofConsole = async (path: string) => (await ann.client.get(path)).body;
    const [atEnd, of] = [{ nextCursor: null }, { integrationId: channelId }];
    const [{ identifier: platform, ...channel }] = await get('/integrations');
    const pairs: [tool: string, input: object, answer: unknown, path?: string][] = [
      [
        'list_channels',
        {},
        { output: [{ id: channelId, name: channel.name, picture: channel.picture, platform }], ...atEnd },
      ],
      ['list_groups', {}, { output: await get('/groups'), ...atEnd }],
      ['channel_schema', { platform: 'sandbox' }, await get(`/integration-settings/${channelId}`)],
      ['get_post', { id }, await ofConsole(`/posts/${id}`)],
      ['post_timeline', { id }, { ...(await get(`/posts/${id}/timeline`)), ...atEnd }],
      ['find_slot', of, await get(`/find-slot/${channelId}`)],
      ['get_channel_analytics', of, { output: await get(`/analytics/${channelId}`), ...atEnd }],
      ['get_post_analytics', { id }, { output: [], missing: (await get(`/analytics/post/${id}`)).missing, ...atEnd }],
      ['get_media', { id: fileId }, await ofConsole(`/media/${fileId}`), '/media-mcp'],
      ['search_media', { search: 'lake' }, { ...(await ofConsole('/media?search=lake')), ...atEnd }, '/media-mcp'],
      ['video_options', {}, { video: await ofConsole('/media/video-options') }],
      [
        'preflight_post',
        world.post({ postsAndComments: [{ content: '' }] }),
        {
          output: (
            await key.post('/public/v1/posts/preflight', {
              type: 'draft',
              posts: [{ integration: { id: channelId }, value: [{ content: '' }] }],
            })
          ).body.map((entry: object) => ({ ...entry, issues: expect.any(Array) })),
        },
      ],
    ];
    for (const [name, input, answer, path] of pairs) {
      const { body } = await sendRpc(key, callOf(name, input), path);
      expect([name, body.result.structuredContent]).toEqual([name, answer]);
      const tool = tools.find((one) => one.name === name)!;
      expect([name, tool.output.safeParse(body.result.structuredContent).error?.issues]).toEqual([name, undefined]);
      const texts = body.result.content.map(({ text }: { text: string }) => text);
      const json = texts.find((text: string) => text.startsWith('{'));
      expect([name, Object.keys(JSON.parse(json))]).toEqual([name, Object.keys(body.result.structuredContent)]);
    }
  });

  test('an alias acts as its tool', async () => {
    const [byName, byAlias] = await Promise.all(
      ['list_channels', 'integrationList'].map((name) => called(world.key, name)),
    );
    expect(byAlias).toEqual(byName);
  });

  test('list_posts lists a range part by part, cut to 25 kB, and says that it goes on', async () => {
    const bob = await world.product.signUp();
    const key = await bob.withKey();
    const connected = await bob.client.post('/integrations/social-connect/sandbox', {
      fields: { name: 'Long' },
      allowPreview: true,
    });
    const long = 'x'.repeat(9_000);
    const entry = {
      ...world.post().socialPost[0],
      integrationId: connected.body.id,
      postsAndComments: [{ content: long }],
    };
    const made = await called(key, 'create_post', { socialPost: [entry, entry, entry, entry, entry] });
    const ids: string[] = [];
    let cursor: string | null | undefined;
    const { sql, statements } = world.product.db;
    await using counted = await testApp({ sql });
    const reader = counted.client();
    reader.headers = key.headers;
    do {
      statements.length = 0;
      const { body } = await sendRpc(reader, callOf('list_posts', { ...(cursor && { cursor }) }));
      expect(statements.filter((text) => text.includes('to_char(p.publish_date'))).toHaveLength(1);
      const { output, nextCursor } = body.result.structuredContent;
      expect(JSON.stringify(output).length).toBeLessThan(26_000);
      ids.push(...output.posts.map(({ id }: { id: string }) => id));
      const words = body.result.content.map(({ text }: { text: string }) => text).join('\n');
      expect(words.includes('The list goes on')).toBe(nextCursor !== null);
      cursor = nextCursor;
    } while (cursor);
    expect(ids.toSorted()).toEqual(made.output.map(({ postId }: { postId: string }) => postId).toSorted());
  });
});

describe('tools that write', () => {
  test('create_post makes posts of each type by MCP, all of them or none, and publishes what is due [S202]', async () => {
    const { key, product, channelId } = world;
    const entry = (more: object) => world.post(more).socialPost[0];
    const { output } = await called(key, 'create_post', {
      socialPost: [
        entry({ type: 'draft', postsAndComments: [{ content: 'Draft' }, { content: 'Comment' }] }),
        entry({ type: 'schedule', date: later(), settings: [{ key: 'outcome', value: 'ok' }] }),
        entry({ type: 'now', postsAndComments: [{ content: 'Out at once' }] }),
      ],
    });
    expect(output.map(({ integration }: { integration: string }) => integration)).toEqual([
      channelId,
      channelId,
      channelId,
    ]);
    const [draft, planned, now] = output.map(({ postId }: { postId: string }) => postId);
    expect(await called(key, 'get_post', { id: draft })).toMatchObject({
      state: 'DRAFT',
      creationMethod: 'MCP',
      thread: [expect.objectContaining({ content: expect.stringContaining('Comment') })],
    });
    expect(await called(key, 'get_post', { id: planned })).toMatchObject({
      state: 'QUEUE',
      settings: { outcome: 'ok' },
    });
    await eventually('the post is out', async () => (await called(key, 'get_post', { id: now })).state === 'PUBLISHED');

    const count = async () => (await product.db.sql`select count(*)::int as n from posts`)[0]!['n'];
    const before = await count();
    const fault = await faultedBy(key, 'create_post', {
      socialPost: [entry({}), entry({ type: 'schedule', date: later(), postsAndComments: [{ content: '' }] })],
    });
    expect(fault).toMatchObject({ statusCode: 400, errors: [{ field: 'socialPost.1.postsAndComments.0.content' }] });
    expect(await count()).toBe(before);
    const missing = await faultedBy(key, 'create_post', { socialPost: [entry({ type: 'schedule' })] });
    expect(missing.errors[0].field).toBe('socialPost.0.date');
    const long = { type: 'schedule', date: later(), postsAndComments: [{ content: 'x'.repeat(100_000) }] };
    const dry = await called(key, 'create_post', { socialPost: [entry({}), entry(long)], dryRun: true });
    expect(dry).toMatchObject({ output: [], dryRun: [{ id: channelId, valid: true }, { valid: false }] });
    expect(dry.dryRun[1].issues[0].field).toBe('socialPost.1.postsAndComments.0.content');
    expect(dry.dryRun[1].errors).toBe(dry.dryRun[1].issues[0].message);
    expect(await count()).toBe(before);
  });

  test('update_post, update_post_settings, cancel_post and delete_post change a post as their routes do', async () => {
    const { key } = world;
    const id = await create({ type: 'schedule', date: later() });
    const dry = await called(key, 'update_post', { id, content: 'Dry', dryRun: true });
    expect(dry.content).not.toContain('Dry');
    expect((await faultedBy(key, 'update_post', { id, date: 'soon' })).message).toMatch(/^date: /);
    const date = later(7_200_000);
    expect(await called(key, 'update_post', { id, content: 'New words', date })).toMatchObject({
      content: expect.stringContaining('New words'),
      publishDate: date,
      state: 'QUEUE',
    });
    const settings = [{ key: 'latencyMs', value: 5 }];
    expect(await called(key, 'update_post_settings', { id, settings })).toEqual({ postId: id, publishDate: date });
    expect((await called(key, 'get_post', { id })).settings).toMatchObject({ latencyMs: 5 });
    expect(await called(key, 'cancel_post', { id })).toEqual({ id, state: 'DRAFT', detail: 'cancelled' });
    expect(await called(key, 'delete_post', { id })).toEqual({ id });
    expect((await faultedBy(key, 'get_post', { id })).code).toBe('not_found');
  });

  test('explain_failure says what failed, what to do, and whether trying again is safe', async () => {
    const { key } = world;
    const id = await create();
    await world.product.db.sql`
      update posts
      set state = 'ERROR', detail = null, error_kind = 'validation', error = 'The text is too long'
      where id = ${id}`;
    const explained = await called(key, 'explain_failure', { id });
    expect(explained).toMatchObject({
      id,
      errorKind: 'validation',
      error: 'The text is too long',
      summary: expect.stringContaining('refuses this content'),
      suggestion: expect.stringContaining('channel_schema'),
      safeToRetry: false,
    });
    expect(await called(key, 'explain_failure', { id: await create() })).toMatchObject({
      errorKind: null,
      safeToRetry: false,
    });
    expect(explained.timeline.length).toBeGreaterThan(0);
    await world.product.db.sql`
      update posts
      set state = 'QUEUE', detail = 'paused', error_kind = null, error = null
      where id = ${id}`;
    expect(await called(key, 'explain_failure', { id })).toMatchObject({
      summary: expect.stringContaining('paused'),
      suggestion: expect.stringContaining('resume'),
      safeToRetry: false,
    });
  });

  test('call_channel_method asks the network by a method that it declares', async () => {
    const { key, channelId } = world;
    const { output } = await called(key, 'channel_schema', { platform: 'sandbox' });
    expect(output.tools.map(({ methodName }: { methodName: string }) => methodName)).toContain('list_posts');
    const listed = await called(key, 'call_channel_method', { integrationId: channelId, methodName: 'list_posts' });
    expect(Array.isArray(listed.output)).toBe(true);
    const unknown = { integrationId: channelId, methodName: 'toString' };
    expect((await faultedBy(key, 'call_channel_method', unknown)).code).toBe('not_found');
  });

  test('a file is uploaded by an address of its own, described and found again', async () => {
    const { key } = world;
    const bytes = new Uint8Array(await picture(30, 20));
    const at = '/media-mcp';
    const asked = { name: 'hill.png', size: bytes.length, type: 'image/png' };
    const { uploadId, url, headers, expiresAt } = await called(key, 'request_media_upload', asked, at);
    expect(Date.parse(expiresAt)).toBeGreaterThan(Date.now());
    const local = url.replace(/^https?:\/\/[^/]+/, world.product.address);
    expect((await fetch(local, { method: 'PUT', body: bytes, headers })).status).toBe(200);
    const file = await called(key, 'finalize_media_upload', { uploadId }, at);
    expect(file).toMatchObject({ originalName: 'hill.png', width: 30, height: 20 });
    expect(await called(key, 'finalize_media_upload', { uploadId }, at)).toEqual(file);
    const described = await called(key, 'update_media', { id: file.id, alt: 'A hill', folder: 'trips' }, at);
    expect(described).toMatchObject({ alt: 'A hill', folder: 'trips' });
    const found = await called(key, 'search_media', { folder: 'trips', type: 'image' }, at);
    expect(found.results.map(({ id }: { id: string }) => id)).toEqual([file.id]);
    const large = await faultedBy(key, 'request_media_upload', { ...asked, size: 90_000_000 }, at);
    expect(large.errors[0].field).toBe('size');
    expect((await faultedBy(key, 'upload_from_url', { url: 'http://169.254.169.254/' }, at)).code).toBe('blocked_url');
  });

  test('transform_media starts the job that its route starts, and judges params as it does', async () => {
    const { key, ann } = world;
    const at = '/media-mcp';
    const wish = { operation: 'resize', params: { width: 10 } };
    const { jobId } = await called(key, 'transform_media', { id: fileId, ...wish }, at);
    const byRoute = await ann.client.post(`/media/${fileId}/transform`, wish);
    expect(byRoute.status).toBe(201);
    const status = (id: string) => called(key, 'media_job_status', { jobId: id }, at);
    await eventually('both jobs are done', async () => {
      const jobs = await Promise.all([jobId, byRoute.body.id].map(status));
      return jobs.every(({ state }) => state === 'done');
    });
    const shown = await status(jobId);
    expect(shown).toEqual((await ann.client.get(`/media/jobs/${jobId}`)).body);
    expect(shown).toEqual((await key.get(`/public/v1/media/jobs/${jobId}`)).body);
    expect(await called(key, 'get_media', { id: shown.result[0].id }, at)).toMatchObject({ width: 10, height: 5 });
    for (const [operation, params] of [
      ['resize', {}],
      ['resize', { width: 10, left: 1 }],
      ['crop', { left: 0, top: 0, width: 21, height: 1 }],
      ['convert', {}],
      ['trim', { from: 2, to: 1 }],
    ] as const) {
      const fault = await faultedBy(key, 'transform_media', { id: fileId, operation, params }, at);
      const route = await ann.client.post(`/media/${fileId}/transform`, { operation, params });
      expect([operation, fault.statusCode, fault.errors]).toEqual([operation, route.status, route.body.errors]);
      expect(fault.errors[0].field).toMatch(/^params\./);
    }
  });

  test('what makes pictures and videos is refused as its route refuses where no provider is set up', async () => {
    const { key, ann } = world;
    const route = await ann.client.post('/media/generate-image', { prompt: 'A lake' });
    const tool = await faultedBy(key, 'generate_image', { prompt: 'A lake' });
    expect([tool.statusCode, tool.code]).toEqual([route.status, route.body.code]);
    const video = await faultedBy(key, 'generate_video', { identifier: 'x' });
    const byRoute = await ann.client.post('/media/generate-video', { type: 'x' });
    expect([video.statusCode, video.code]).toEqual([byRoute.status, byRoute.body.code]);
    expect((await faultedBy(key, 'media_job_status', { jobId: newId() }, '/media-mcp')).code).toBe('not_found');
  });
});

describe('ids of another organization', () => {
  test('every tool that takes an id answers a foreign, an unknown and an impossible one alike', async () => {
    const eve: SignedUp = await world.product.signUp();
    const key = await eve.withKey();
    const post = await create();
    const { uploadId } = await called(
      world.key,
      'request_media_upload',
      { name: 'a.png', size: 10, type: 'image/png' },
      '/media-mcp',
    );
    const { proposalId } = await called(world.key, 'propose_post', world.post());
    const resize = { id: fileId, operation: 'resize', params: { width: 5 } };
    const { jobId: transformed } = await called(world.key, 'transform_media', resize, '/media-mcp');
    const takes: Record<string, [field: string, foreign: string, more?: object]> = {
      get_post: ['id', post],
      get_proposal: ['id', proposalId],
      update_post: ['id', post, { content: 'x' }],
      update_post_settings: ['id', post, { settings: [] }],
      cancel_post: ['id', post],
      delete_post: ['id', post],
      post_timeline: ['id', post],
      explain_failure: ['id', post],
      get_channel_analytics: ['integrationId', world.channelId],
      get_post_analytics: ['id', post],
      find_slot: ['integrationId', world.channelId],
      call_channel_method: ['integrationId', world.channelId, { methodName: 'list_posts' }],
      get_media: ['id', fileId],
      update_media: ['id', fileId, { alt: 'x' }],
      finalize_media_upload: ['uploadId', uploadId],
      transform_media: ['id', fileId, { operation: 'resize', params: { width: 5 } }],
      media_job_status: ['jobId', transformed],
    };
    const withIds = tools.filter(({ input }) =>
      Object.keys(input.shape).some((field) => field === 'id' || field.endsWith('Id')),
    );
    expect(withIds.map(({ name }) => name).toSorted()).toEqual(Object.keys(takes).toSorted());
    const before = await world.product.db.sql`select * from posts where org_id = ${world.ann.orgId} order by id`;
    for (const [name, [field, foreign, more]] of Object.entries(takes)) {
      const path = MCP_TOOLS[name]!.on === 'media' ? '/media-mcp' : '/mcp';
      const answers = [];
      for (const id of [foreign, newId(), 'impossible'])
        answers.push(await faultedBy(key, name, { ...more, [field]: id }, path));
      expect([name, answers[0].code]).toEqual([name, 'not_found']);
      expect(answers[1]).toEqual(answers[0]);
      expect(answers[2]).toEqual(answers[0]);
    }
    const foreign = await faultedBy(key, 'create_post', world.post());
    expect(foreign.errors[0].field).toBe('socialPost.0.integrationId');
    expect(await world.product.db.sql`select * from posts where org_id = ${world.ann.orgId} order by id`).toEqual(
      before,
    );
  });
});
