import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sealCredentials } from '../../../../src/publishing/channels/credentials.ts';
import { CreateBody } from '../../../../src/publishing/posts/index.ts';
import { newId, systemClock } from '../../../../src/platform/kernel/index.ts';
import { element, later, openPostRoutes } from '../../../support/worlds/publishing/post-routes.ts';
import { sealedLogin } from '../../../support/worlds/publishing/world.ts';
import { workOf } from '../../../support/worlds/publishing/work.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const routes = await openPostRoutes();
const { db, app, network, ann, eve, key, channel, second, foreign, connect, schedule, create, rows, made } = routes;
afterAll(routes.close);
beforeEach(() => {
  network.declares = {};
});

type Entry = {
  valid: boolean;
  errors: true | string;
  issues: { field: string; message: string; rule: string }[];
  warnings: { code: string; message: string }[];
} & Record<string, unknown>;
async function preflight(body: object, client = ann.client, path = '/posts/preflight'): Promise<Entry[]> {
  const answer = await client.post(path, body);
  if (answer.status > 201) throw new Error(answer.text);
  return answer.body;
}
const one = async (body: object): Promise<Entry> => (await preflight(body))[0]!;
const warned = async (body: object) => (await one(body)).warnings.map(({ code }) => code);
const value = (...items: object[]) => schedule({ posts: [{ integration: { id: channel }, value: items }] });
const fresh = async () => connect(ann.orgId, 'Fresh');
const on = (id: string, more: object = {}, content = '<p>Hi</p>') =>
  schedule({ posts: [element(id, content)], ...more });
const file = async (more: object = {}) => {
  const id = newId();
  await db.sql`
    insert into files ${db.sql({ id, org_id: ann.orgId, name: 'a', original_name: 'a', storage_key: `x/${id}.png`, kind: 'image', mime: 'image/png', bytes: 1_000, width: 100, height: 100, ...more })}`;
  return { id, path: '' };
};

describe('POST /posts/preflight', () => {
  test.each([
    ['tags and entities', '<b>'.repeat(20_001), 'more than'],
    ['characters once they are written as entities', '< '.repeat(19_000) + 'x'.repeat(20_000), 'longer than'],
  ])('names contents with too many %s in its entries, which create refuses [S116]', async (_, content, message) => {
    const body = schedule({ posts: [element(channel), element(second, content), element(newId())] });
    const issues = [{ field: 'posts.1.value.0.content', message: expect.stringContaining(message), rule: 'too_big' }];
    const entry = { valid: false, settingsError: false, errors: issues[0]!.message, issues, warnings: [] };
    expect(await preflight(body)).toMatchObject([
      { ...entry, id: channel, name: 'First', tooLong: false },
      { ...entry, id: second, name: 'Second', tooLong: true },
      { ...entry, name: null },
    ]);
    expect((await create(body)).body).toMatchObject({ errors: issues });
  });

  test('answers an entry for each post, the same from every path, and stores nothing [S116, PO10]', async () => {
    const before = await rows();
    const asked = network.asked.length;
    const body = schedule({ posts: [element(channel), element(second, 'x'.repeat(101))] });
    const entry = {
      id: channel,
      identifier: 'fake',
      name: 'First',
      valid: true,
      settingsError: false,
      errors: true,
      emptyContent: false,
      tooLong: false,
      maximumCharacters: 100,
      warnings: [],
      issues: [],
    };
    const message = 'the text is longer than 100 characters (101)';
    const expected = [
      entry,
      {
        ...entry,
        id: second,
        name: 'Second',
        valid: false,
        errors: message,
        tooLong: true,
        issues: [{ field: 'posts.1.value.0.content', message, rule: 'max_length' }],
      },
    ];
    const console = await ann.client.post('/posts/preflight', body);
    expect([console.status, console.body]).toEqual([200, expected]);
    expect((await ann.client.post('/posts/valid', body)).text).toBe(console.text);
    const answer = await key.post('/public/v1/posts/preflight', body);
    expect([answer.status, answer.text]).toEqual([201, console.text]);
    expect([await rows(), network.asked.length]).toEqual([before, asked]);
  });

  test('says that a network which fetches files itself cannot reach them, and create refuses it [S108, S116]', async () => {
    const id = newId();
    await db.sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
      values (${id}, ${ann.orgId}, 'instagram', 'v1', ${id}, 'Fetches', ${sealedLogin(id)})`;
    const body = schedule({ posts: [{ integration: { id }, value: [{ content: 'x', image: [await file()] }] }] });
    const message = expect.stringContaining('NEXT_PUBLIC_BACKEND_URL');
    const issue = { field: 'posts.0.value.0.image.0', message, rule: 'not_reachable' };
    expect((await one(body)).issues).toEqual([issue]);
    const answer = await create(body);
    expect([answer.status, answer.body.code, answer.body.errors]).toEqual([400, 'invalid_content', [issue]]);
  });

  test('names every fault of text, media, thread, settings, date and channel, and refuses none by a status [S116]', async () => {
    network.declares = { threads: 'none' };
    const image = Array.from({ length: 5 }, () => ({ path: 'https://a.example/x.png' }));
    const fieldsOf = async (body: object) => (await one(body)).issues.map(({ field, rule }) => `${field} ${rule}`);
    expect(await fieldsOf(value({ content: 'x', image }, { content: 'y' }))).toEqual([
      'posts.0.value.0.image max_items',
      'posts.0.value.1 max_items',
    ]);
    expect(await one(value({ content: '' }))).toMatchObject({ valid: false, emptyContent: true });
    expect(await fieldsOf(value({ content: 'x', image: [{ path: 'https://10.0.0.1/a.png' }] }))).toEqual([
      'posts.0.value.0.image.0.path blocked_url',
    ]);
    expect(await fieldsOf(value({ content: 'x', image: [{ id: newId(), path: '' }] }))).toEqual([
      'posts.0.value.0.image.0.path invalid',
    ]);
    expect(await fieldsOf({ ...schedule(), date: '2020-01-01' })).toEqual(['date date']);
    const draft = await one({ ...value({ content: 'x'.repeat(101) }), type: 'draft' });
    expect(draft).toMatchObject({ valid: true, tooLong: true, issues: [] });
    const gone = await one({ ...schedule(), posts: [element(foreign)] });
    expect(gone).toMatchObject({ id: foreign, identifier: null, name: null, valid: false, maximumCharacters: null });
    expect(gone.issues).toMatchObject([{ field: 'posts.0.integration.id', rule: 'unknown_id' }]);
    const disabled = await connect(ann.orgId, 'Disabled', { disabled: true });
    expect(await fieldsOf(on(disabled))).toEqual(['posts.0.integration.id disabled']);
    expect((await one(on(disabled, { type: 'draft' }))).valid).toBe(true);
  });

  test('tells faults of settings apart from the others [S116]', async () => {
    const sandbox = newId();
    await connectTo('sandbox', sandbox);
    const entry = await one(schedule({ posts: [element(sandbox, 'x', { settings: { latencyMs: 'long' } })] }));
    expect(entry).toMatchObject({ valid: false, settingsError: true, errors: true });
    expect(entry.issues.map(({ field }) => field)).toEqual(['posts.0.settings.latencyMs']);
  });

  test('judges edits by the post that they name [S116]', async () => {
    const id = await made();
    const edit = (content: string, type = 'update') => ({
      type,
      posts: [{ integration: { id: channel }, value: [{ id, content }] }],
    });
    expect((await one(edit('other'))).valid).toBe(true);
    expect((await one(edit('x'.repeat(101)))).valid).toBe(false);
    await db.sql`update posts set state = 'PUBLISHED', detail = null, due_at = null where id = ${id}`;
    expect((await one(edit('other'))).issues).toMatchObject([{ rule: 'already_published' }]);
    expect((await create(edit('other'))).status).toBe(409);
    const named = { type: 'update', posts: [element(channel, 'x', { value: [{ id: newId(), content: 'x' }] })] };
    expect((await one(named)).issues).toMatchObject([{ field: 'posts.0.value.0.id', rule: 'unknown_id' }]);
  });

  test('refuses who may not create or edit, and a body that is malformed [S116]', async () => {
    const bob = await app.signUp();
    await db.sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${bob.userId}, 'member')`;
    bob.client.headers = { showorg: ann.orgId };
    const id = await made();
    const edit = { type: 'update', posts: [{ integration: { id: channel }, value: [{ id, content: 'x' }] }] };
    expect((await bob.client.post('/posts/preflight', schedule())).status).toBe(200);
    expect((await bob.client.post('/posts/preflight', edit)).status).toBe(403);
    await db.sql`update memberships set role_key = 'viewer' where user_id = ${bob.userId} and org_id = ${ann.orgId}`;
    expect((await bob.client.post('/posts/preflight', schedule())).status).toBe(403);
    const unknown = await ann.client.post('/posts/preflight', { ...schedule(), bogus: 1 });
    expect([unknown.status, unknown.body.code, unknown.body.errors[0].field]).toEqual([400, 'unknown_field', 'bogus']);
    expect((await ann.client.post('/posts/preflight', { ...schedule(), posts: [] })).status).toBe(400);
  });
});

describe('warnings of preflight', () => {
  test('a channel that needs a login, and a login that ends before the date and that nobody can renew [S116]', async () => {
    const waiting = await connect(ann.orgId, 'Waiting', { refreshNeeded: true });
    expect(await warned(on(waiting))).toEqual(['channel_refresh_needed']);
    const ending = await fresh();
    await db.sql`update channels set token_expires_at = now() + interval '2 hours' where id = ${ending}`;
    expect(await warned(on(ending, { date: later(3 * HOUR) }))).toEqual(['token_expires_before']);
    expect(await warned(on(ending, { date: later(HOUR) }))).toEqual([]);
    // sealed by a key that is lost
    const unreadable = await fresh();
    await db.sql`
      update channels set credentials = 'x', token_expires_at = now() + interval '2 hours' where id = ${unreadable}`;
    expect(await warned(on(unreadable, { date: later(3 * HOUR) }))).toEqual(['token_expires_before']);
    const renewed = await connectTo('bluesky', newId()); // signs in again by its password
    await db.sql`update channels set token_expires_at = now() + interval '2 hours' where id = ${renewed}`;
    expect(await warned(on(renewed, { date: later(3 * HOUR) }))).toEqual([]);
  });

  test('the same text and media on the channel within a day, drafts and edits of itself left out [S116]', async () => {
    const id = await fresh();
    const other = await fresh();
    const image = [{ path: 'https://a.example/x.png' }];
    const post = (more: object = {}, files: object[] = image) =>
      schedule({ posts: [{ integration: { id }, value: [{ content: '<p>Twice</p>', image: files }] }], ...more });
    expect(await warned(post())).toEqual([]);
    await made(post({ type: 'draft' }));
    expect(await warned(post())).toEqual([]);
    const first = await made(post());
    expect(await warned(post())).toEqual(['duplicate_content']);
    expect(await warned(post({ date: later(23 * HOUR) }))).toEqual(['duplicate_content']);
    expect(await warned(post({ date: later(26 * HOUR) }))).toEqual([]);
    expect(await warned(post({}, []))).toEqual([]);
    expect(await warned(on(other, {}, '<p>Twice</p>'))).toEqual([]);
    const edit = post({ type: 'update' });
    Object.assign(edit.posts[0]!.value[0]!, { id: first });
    expect(await warned(edit)).toEqual([]);
  });

  test('the same text and media on the channel in two entries of one body, if they are to go out [S116]', async () => {
    const [id, other] = [await fresh(), await fresh()];
    const entry = (to: string, content: string, more: object = {}) => ({
      integration: { id: to },
      value: [{ content, ...more }],
    });
    const codes = async (posts: object[], more: object = {}) =>
      (await preflight(schedule({ posts, ...more }))).map(({ warnings }) => warnings.map(({ code }) => code));
    const twice = ['duplicate_content'];
    const image = [{ path: 'https://a.example/x.png' }];
    const posts = [entry(id, 'Same'), entry(id, 'Other'), entry(id, 'Same'), entry(other, 'Same')];
    expect(await codes([...posts, entry(id, 'Same', { image })])).toEqual([twice, [], twice, [], []]);
    expect(await codes(posts, { type: 'now' })).toEqual([twice, [], twice, []]);
    expect(await codes(posts, { type: 'draft' })).toEqual([[], [], [], []]);

    const [near, far] = [await made(on(id, {}, 'Near')), await made(on(id, { date: later(72 * HOUR) }, 'Far'))];
    const draft = await made(on(id, { type: 'draft' }, 'Draft'));
    const update = (...ids: string[]) =>
      codes(
        ids.map((post) => entry(id, 'Edited', { id: post })),
        { type: 'update', date: undefined },
      );
    expect(await update(near, far)).toEqual([[], []]); // each stays at its date
    expect(await update(near, draft)).toEqual([[], twice]); // of the two a draft does not go out
    expect(await update(near, near)).toEqual([[], []]);
    const { warnings } = (await preflight(schedule({ posts: [entry(id, 'Twice'), entry(id, 'Twice')] })))[1]!;
    expect(warnings[0]!.message).toContain('another entry');
  });

  test('what is left of the pace of the account on that day, and when the post would go [S116]', async () => {
    network.declares = { pace: [{ per: 'account', posts: 3, ms: DAY }] };
    const id = await fresh();
    const date = systemClock.in(40 * DAY);
    const at = (hours: number) => new Date(date.getTime() + hours * HOUR).toISOString();
    expect(await warned(on(id, { date: at(0) }))).toEqual([]);
    for (const hours of [-20, -10, -1]) await made(on(id, { date: at(hours) }, `<p>${hours}</p>`));
    await made(on(id, { date: at(-30) }, '<p>the day before</p>'));
    const { warnings } = await one(on(id, { date: at(0) }));
    expect(warnings).toEqual([
      {
        code: 'rate_budget',
        message: `Fake takes 3 posts in a day of one account, and 0 are left at the date of this post: it goes out at ${at(4)} or later`,
      },
    ]);
    const entries = await preflight(
      schedule({ date: at(60), posts: Array.from({ length: 4 }, (_, n) => element(id, `<p>${n}</p>`)) }),
    );
    expect(entries.map((entry) => entry.warnings.length)).toEqual([0, 0, 0, 1]);
  });

  test('what the window of an app has left that all its channels share [S116]', async () => {
    network.declares = { pace: [{ per: 'app', posts: 5, ms: DAY }] };
    const id = await fresh();
    await db.sql`
      insert into network_paces (key, posts, until) values (${`fake app ${DAY} `}, 5, now() + interval '5 hours')`;
    expect(await warned(on(id, { date: later(HOUR) }))).toEqual(['rate_budget']);
    expect(await warned(on(id, { date: later(6 * HOUR) }))).toEqual([]);
  });

  test('nothing of a pace of comments alone, in which no post counts [S116]', async () => {
    network.declares = { pace: [{ per: 'account', posts: 1, ms: DAY, of: 'comments' }] };
    const id = await fresh();
    const entries = await preflight(schedule({ posts: ['<p>1</p>', '<p>2</p>'].map((text) => element(id, text)) }));
    expect(entries.map(({ warnings }) => warnings)).toEqual([[], []]);
  });

  test('a local date that the clocks of its zone skip, or show twice [S116, S104]', async () => {
    const shiftOf = async (date: string, timezone?: string, type = 'schedule') => {
      const { body } = await ann.client.post('/posts/preflight', schedule({ date, timezone, type }));
      return body[0].warnings.filter(({ code }: { code: string }) => code === 'dst_shift');
    };
    expect(await shiftOf('2035-03-25T02:30:00', 'Europe/Berlin')).toEqual([
      { code: 'dst_shift', message: expect.stringContaining('2035-03-25T01:30:00.000Z') },
    ]);
    expect(await shiftOf('2035-10-28T02:30:00', 'Europe/Berlin')).toEqual([
      { code: 'dst_shift', message: expect.stringContaining('2035-10-28T00:30:00.000Z') },
    ]);
    expect(await shiftOf('2035-03-25T04:30:00', 'Europe/Berlin')).toEqual([]);
    expect(await shiftOf('2035-03-25T02:30:00')).toEqual([]);
    // the date of what goes out now is ignored
    expect(await shiftOf('2035-03-25T02:30:00', 'Europe/Berlin', 'now')).toEqual([]);
  });

  test('the rule by which a post recurs is judged as create judges it [S116, S120]', async () => {
    const recurrence = { rrule: 'FREQ=DAILY', timezone: 'UTC', until: '2030-01-01' };
    const body = schedule({ date: '2035-01-01T10:00:00Z', recurrence });
    const [entry] = (await ann.client.post('/posts/preflight', body)).body;
    expect(entry).toMatchObject({ valid: false, issues: [{ field: 'recurrence.until', rule: 'no_dates' }] });
    expect((await ann.client.post('/posts', body)).body.errors).toEqual(entry.issues);
  });

  test('pictures that the network does not take as they are [S116]', async () => {
    network.declares = {
      limits: { text: 100, unit: 'characters', media: 4, mediaTypes: ['image/jpeg'], image: { bytes: 2_000 } },
    };
    const images = async (...more: object[]) => ({
      content: 'x',
      image: await Promise.all(more.map((wish) => file(wish))),
    });
    const jpeg = { mime: 'image/jpeg' };
    const entry = await one(value(await images(jpeg, {}, { ...jpeg, bytes: 3_000 })));
    expect(entry).toMatchObject({ valid: true, warnings: [{ code: 'media_will_be_converted' }] });
    expect(entry.warnings[0]!.message).toMatch(/posts\.0\.value\.0\.image\.1, posts\.0\.value\.0\.image\.2$/);
    expect(await warned(value(await images(jpeg)))).toEqual([]);
  });
});

test('a hundred entries cost six statements at most, whatever they name [S116]', async () => {
  network.declares = { pace: [{ per: 'account', posts: 10, ms: DAY }] };
  const ids = await Promise.all(Array.from({ length: 20 }, fresh));
  const root = await made(on(ids[0]!));
  await db.sql`update channels set token_expires_at = now() where id = ${ids[0]!}`;
  const image = [await file(), { path: 'https://a.example/x.png' }];
  const posts = Array.from({ length: 100 }, (_, n) => ({
    integration: { id: ids[n % 20]! },
    value: [{ content: `<p>${n}</p>`, image, ...(n === 0 && { id: root }) }],
  }));
  const { result, statements } = await workOf(db, () =>
    app.context.posts.preflightPosts(ann.orgId, [parsed(schedule({ posts }))], {
      userId: ann.userId,
      schedulesFreely: true,
    }),
  );
  expect(result[0]!.entries.map(({ isValid }) => isValid)).toEqual(posts.map(() => true));
  expect(statements.filter((text) => !/^\s*(begin|commit)/i.test(text)).length).toBeLessThanOrEqual(6);
});

/** The body as the route hands it on. */
const parsed = (body: object) => CreateBody.parse(body);

async function connectTo(providerId: string, id: string): Promise<string> {
  const login = { account: id, values: {}, grantedAt: systemClock.now() };
  await db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${id}, ${ann.orgId}, ${providerId}, 'v1', ${id}, ${providerId},
      ${sealCredentials(app.context.vault, login)})`;
  return id;
}

test('another organization sees neither channels nor posts by it [GN2]', async () => {
  const id = await fresh();
  const post = on(id, {}, '<p>Only here</p>');
  await made(post);
  const [entry] = await preflight(post, eve.client);
  expect(entry).toMatchObject({ valid: false, name: null, warnings: [] });
});
