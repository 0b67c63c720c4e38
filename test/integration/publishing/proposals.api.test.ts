import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { Client } from '../../support/worlds/app.ts';
import { called, callOf, faultedBy, type McpWorld, mcpWorld, outcomeOf, sendRpc } from '../../support/worlds/mcp.ts';
import { makeApp, tokensFor } from '../../support/worlds/oauth.ts';

let world: McpWorld;
beforeAll(async () => {
  world = await mcpWorld();
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

const propose = async (more: object = {}): Promise<string> =>
  (await called(world.key, 'propose_post', world.post(more))).proposalId;
const later = (ms = 3_600_000) => new Date(Date.now() + ms).toISOString();
const posts = () =>
  world.product.db.sql`select id, state, creation_method from posts where org_id = ${world.ann.orgId} order by id`;
const accept = (id: string, body: object = {}) => world.ann.client.post(`/proposals/${id}/accept`, body);
const statusOf = async (id: string) => (await called(world.key, 'get_proposal', { id })).status;

describe('a proposal', () => {
  test('is kept apart from posts, listed, and becomes posts when a person accepts it', async () => {
    const before = await posts();
    const id = await propose({ type: 'schedule', date: later() });
    expect(await posts()).toEqual(before);
    const shown = (await world.ann.client.get(`/proposals/${id}`)).body;
    expect(shown).toMatchObject({
      id,
      status: 'pending',
      proposedBy: world.ann.userId,
      program: 'test',
      contentHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      socialPost: [expect.objectContaining({ integrationId: world.channelId })],
    });
    expect((await world.ann.client.get('/proposals?status=pending')).body.items[0]).toEqual(shown);
    expect((await world.ann.client.get('/proposals?status=accepted')).body.items).toEqual([]);
    expect(await called(world.key, 'get_proposal', { id })).toEqual(shown);
    const { status, body } = await accept(id);
    expect([status, body.status, body.decidedBy]).toEqual([200, 'accepted', world.ann.userId]);
    const [postId] = body.postIds;
    expect(await called(world.key, 'get_post', { id: postId })).toMatchObject({
      state: 'QUEUE',
      creationMethod: 'MCP',
    });
    expect((await accept(id)).status).toBe(409);
    expect((await world.ann.client.post(`/proposals/${id}/reject`, { reason: 'late' })).status).toBe(409);
  });

  test('with a thread keeps its order, and a date of the person holds for all of it', async () => {
    const id = await propose({ postsAndComments: [{ content: 'One' }, { content: 'Two' }, { content: 'Three' }] });
    const date = later(7_200_000);
    const { body } = await accept(id, { date });
    const post = await called(world.key, 'get_post', { id: body.postIds[0] });
    expect(post).toMatchObject({ state: 'QUEUE', publishDate: date });
    expect(post.thread.map(({ content }: { content: string }) => content)).toEqual([
      expect.stringContaining('Two'),
      expect.stringContaining('Three'),
    ]);
  });

  test('that is accepted many times at once, or after an acceptance that was cut off, makes its posts once', async () => {
    const before = (await posts()).length;
    const id = await propose();
    const answers = await Promise.all(Array.from({ length: 8 }, () => accept(id)));
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
    expect(answers.filter(({ status }) => ![200, 409].includes(status))).toEqual([]);
    expect((await posts()).length).toBe(before + 1);

    await world.product.db.sql`
      update proposals
      set state = 'pending', acceptances = 1, decided_at = null, decided_by = null, post_ids = null
      where id = ${id}`; // as a process leaves it that ends before it can say so
    expect((await world.ann.client.post(`/proposals/${id}/reject`, { reason: 'no' })).status).toBe(409);
    expect((await accept(id)).body.status).toBe('accepted');
    expect((await posts()).length).toBe(before + 1);
  });

  test('whose acceptance was cut off when its posts were there is accepted, whatever would refuse them by now', async () => {
    const id = await propose({
      type: 'schedule',
      date: later(),
      postsAndComments: [{ content: '1' }, { content: '2' }],
    });
    const { postIds } = (await accept(id)).body;
    const made = await posts();
    await world.product.db.sql`
      update proposals
      set state = 'pending', acceptances = 1, decided_at = null, decided_by = null, post_ids = null, expires_at = now()
      where id = ${id}`;
    await world.ann.client.post('/integrations/disable', { id: world.channelId });
    expect(await accept(id)).toMatchObject({ status: 200, body: { status: 'accepted', postIds } });
    await world.ann.client.post('/integrations/enable', { id: world.channelId });
    expect((await posts()).map((post) => post['id'])).toEqual(made.map((post) => post['id']));
  });

  test('that is accepted twice with one Idempotency-Key is answered twice alike [S18]', async () => {
    const id = await propose();
    const again = () => world.ann.client.post(`/proposals/${id}/accept`, {}, { 'idempotency-key': id });
    const [first, second] = [await again(), await again()];
    expect([second.status, second.text]).toEqual([200, first.text]);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
  });

  test('whose acceptance died before it made posts may be rejected once that is over', async () => {
    const id = await propose();
    const cutOff = (until: string) => world.product.db.sql`
      update proposals set acceptances = 1, accepting_until = now() + ${until}::text::interval where id = ${id}`;
    const reject = () => world.ann.client.post(`/proposals/${id}/reject`, { reason: 'no' });
    await cutOff('1 minute');
    expect((await reject()).status).toBe(409);
    await cutOff('-1 second');
    expect(await reject()).toMatchObject({ status: 200, body: { status: 'rejected' } });
  });

  test('whose creation is refused stays pending, and may be rejected', async () => {
    const id = await propose({ type: 'schedule', date: '2020-01-01T00:00:00Z' });
    const refused = await accept(id);
    expect([refused.status, refused.body.errors[0].field]).toEqual([400, 'socialPost.0.date']);
    expect(await statusOf(id)).toBe('pending');
    const { body } = await world.ann.client.post(`/proposals/${id}/reject`, { reason: 'Too late' });
    expect([body.status, body.reason]).toEqual(['rejected', 'Too late']);
    expect(await called(world.key, 'get_proposal', { id })).toMatchObject({ status: 'rejected', reason: 'Too late' });
  });

  test('is rejected without a reason too', async () => {
    for (const body of [undefined, {}]) {
      const id = await propose();
      const { status, body: shown } = await world.ann.client.post(`/proposals/${id}/reject`, body);
      expect([status, shown.status, shown.reason]).toEqual([200, 'rejected', null]);
      expect(await called(world.key, 'get_proposal', { id })).toMatchObject({ status: 'rejected', reason: null });
    }
  });

  test('for a channel of another organization makes no post when it is accepted', async () => {
    const eve = await world.product.signUp();
    const { body: foreign } = await eve.client.post('/integrations/social-connect/sandbox', {
      fields: { name: 'foreign' },
      allowPreview: true,
    });
    const before = await posts();
    const id = await propose({ integrationId: foreign.id });
    const { status, body } = await accept(id);
    expect([status, body.errors[0].field]).toEqual([400, 'socialPost.0.integrationId']);
    expect(await statusOf(id)).toBe('pending');
    expect(await posts()).toEqual(before);
    expect(await world.product.db.sql`select from posts where channel_id = ${foreign.id as string}`).toEqual([]);
  });

  test('expires after thirty days', async () => {
    const id = await propose();
    await world.product.db.sql`update proposals set expires_at = now() where id = ${id}`;
    expect(await statusOf(id)).toBe('expired');
    expect((await accept(id)).status).toBe(409);
    expect((await world.ann.client.get('/proposals?status=expired')).body.items).toHaveLength(1);
  });

  test('whose acceptance died before it made posts expires all the same', async () => {
    const id = await propose();
    const before = await posts();
    await world.product.db.sql`
      update proposals
      set acceptances = 1, accepting_until = now() - interval '1 second', expires_at = now()
      where id = ${id}`;
    expect([(await accept(id)).status, await statusOf(id)]).toEqual([409, 'expired']);
    expect(await posts()).toEqual(before);
  });

  test('that create would not take in form is refused at once', async () => {
    const fault = await faultedBy(world.key, 'propose_post', world.post({ type: 'schedule' }));
    expect(fault.errors[0].field).toBe('socialPost.0.date');
  });

  test('is told to who may create posts, with nothing to open', async () => {
    const rows = () => world.product.db.sql`
      select title, content from notifications where org_id = ${world.ann.orgId} and category = 'proposals'`;
    await propose({ postsAndComments: [{ content: '<p>Words of an agent</p>' }] });
    for (let n = 0; n < 500 && !(await rows()).some(({ content }) => content === 'Words of an agent'); n += 1)
      await new Promise((resolve) => setTimeout(resolve, 20));
    expect((await rows()).at(-1)).toMatchObject({ title: 'test proposes posts' });
  });

  test('pages newest first by a cursor', async () => {
    const bob = await world.product.signUp();
    const key = await bob.withKey();
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.unshift((await called(key, 'propose_post', world.post())).proposalId);
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { body } = await bob.client.get(`/proposals?limit=2${cursor && `&cursor=${cursor}`}`);
      seen.push(...body.items.map(({ id }: { id: string }) => id));
      cursor = body.nextCursor;
    }
    expect(seen).toEqual(ids);
    expect((await world.ann.client.get(`/proposals/${ids[0]}`)).status).toBe(404);
    expect((await faultedBy(world.key, 'get_proposal', { id: newId() })).code).toBe('not_found');
  });
});

test('who may only read proposes posts where the organization allows it [S201]', async () => {
  const eve = await world.product.signUp();
  const { access } = await tokensFor(world.product, eve, await makeApp(eve), { scope: 'mcp:read' });
  const reader = new Client(world.product.address);
  reader.headers = { authorization: `Bearer ${access}` };
  const outcome = async () => outcomeOf(await sendRpc(reader, callOf('propose_post', world.post())));
  expect(await outcome()).toBe('403 -32003 insufficient_scope');
  const policy = { allowedScopes: null, allowProposals: true };
  const answer = await eve.client.put('/settings/mcp', policy);
  expect([answer.status, answer.body, (await eve.client.get('/settings/mcp')).body]).toEqual([200, policy, policy]);
  expect(await outcome()).toBe('200');
  expect(outcomeOf(await sendRpc(reader, callOf('create_post', world.post())))).toBe('403 -32003 insufficient_scope');
  for (const wrong of [{ allowedScopes: ['mcp:admin'] }, { allowedScopes: 'x' }, {}, { allowedScopes: [], more: 1 }])
    expect([wrong, (await eve.client.put('/settings/mcp', wrong)).status]).toEqual([wrong, 400]);
});
