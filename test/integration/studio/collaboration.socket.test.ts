import { afterAll, describe, expect, test } from '@jest/globals';
import { encodeAwarenessUpdate } from 'y-protocols/awareness';
import * as Y from 'yjs';
import { rightsOf } from '../../../api/collaboration/rights.ts';
import { permissionsOf } from '../../../src/people/access/index.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import { fc } from '../../support/properties.ts';
import { testApp } from '../../support/worlds/app.ts';
import { clockWhere } from '../../support/worlds/publishing/world.ts';
import { openCoEditing } from '../../support/worlds/studio/co-editing.ts';
import { approve, makeApp, exchange } from '../../support/worlds/oauth.ts';
import { awarenessFrameOf, counted, openCoEditor, syncFrame, varint } from '../../support/wire/co-editor.ts';
import { settles } from '../../support/wire/settles.ts';

const world = await openCoEditing();
const { app, ann, eve, key, db } = world;
afterAll(world.close);
const post = await world.draft();
const room = `post:${post}`;
const codeOf = async (editor: ReturnType<typeof world.join>) => (await editor.closed).code;
const cookieOf = (person: typeof ann) => `auth=${person.client.cookies.get('auth')}`;
const origin = new URL(app.context.config.http.frontendUrl).origin;
const ticketOf = async (name = room, client = ann.client): Promise<string> => {
  const { status, body } = await client.post('/collaboration/ticket', { room: name });
  expect(status).toBe(200);
  return body.token;
};

describe('the address of a room', () => {
  test.each([
    ['path', () => `/collaboration/${room}`],
    ['path below /api', () => `/api/collaboration/${room}`],
    ['escaped path', () => `/collaboration/${encodeURIComponent(room)}`],
    ['query', () => `/collaboration?room=${room}`],
    ['query below /api', () => `/api/collaboration?room=${encodeURIComponent(room)}`],
  ])('is a %s [S203, CL1]', async (_, path) => {
    const editor = await world.joined(room, { path: path() });
    expect(editor.xml).toBe('<paragraph>Hello</paragraph>');
    await editor.close();
  });

  test.each([
    ['of a post that is not there', `post:${newId()}`],
    ['of another form', 'post:1'],
    ['of an unknown kind', `page:${newId()}`],
    ['escaped twice', encodeURIComponent(encodeURIComponent(room))],
    ['broken', '%E0%A4%A'],
    ['missing', ''],
    ['of a group that is not there', 'group:nothing'],
    ['of a campaign that is not there', `campaign:${newId()}`],
    ['of a brand kit that is not there', `brand-kit:${newId()}`],
    ['of a designer session that is not there', `designer:${newId()}`],
  ])('%s is closed with 4404 [S203, S206]', async (_, name) => {
    const editor = world.join(name, name === '' ? { path: '/collaboration' } : {});
    expect(await editor.closed).toMatchObject({ code: 4404 });
  });

  test('of a room of another organization is closed with 4404, whoever asks [S9, X22]', async () => {
    const { key: foreign } = await eve.withKey();
    expect(await codeOf(world.join(room, { headers: { authorization: foreign } }))).toBe(4404);
  });

  test('is the only one that is upgraded: any other wish is answered as if it had none', async () => {
    const { refused } = openCoEditor(app.address, room, { path: '/health/live' });
    expect((await refused).status).toBe(200);
    expect((await app.client().get(`/collaboration/${room}`)).status).toBe(404);
  });
});

describe('who opens a room', () => {
  test.each([
    ['an API key', async () => ({ authorization: key.key })],
    ['an API key as bearer', async () => ({ authorization: `Bearer ${key.key}` })],
    ['a session in the header', async () => ({ auth: ann.client.cookies.get('auth')! })],
    ['a page of the console by cookie', async () => ({ cookie: cookieOf(ann), origin })],
  ])('%s [S204, S14]', async (_, headers) => {
    const editor = await world.joined(room, { headers: await headers() });
    expect(editor.xml).toContain('Hello');
    await editor.close();
  });

  test('a ticket, any number of times, for its room alone [S204, X22]', async () => {
    const token = await ticketOf();
    for (let n = 0; n < 2; n += 1) {
      const editor = await world.joined(room, { headers: {}, path: `/collaboration/${room}?token=${token}` });
      await editor.close();
    }
    const other = await world.draft();
    const path = `/collaboration/post:${other}?token=${token}`;
    expect(await codeOf(world.join(room, { headers: {}, path }))).toBe(4401);
    expect(await codeOf(world.join(room, { headers: { cookie: cookieOf(ann), origin }, path }))).toBe(4401);
  });

  test('a ticket dies with the key that asked for it', async () => {
    const program = await ann.withKey();
    const token = await ticketOf(room, program);
    const path = `/collaboration/${room}?token=${token}`;
    const editor = await world.joined(room, { headers: {}, path });
    const [{ id }] = (await ann.client.get('/user/api-keys')).body;
    expect((await ann.client.delete(`/user/api-keys/${id}`)).status).toBe(200);
    expect(await codeOf(editor)).toBe(4401);
    expect(await codeOf(world.join(room, { headers: {}, path }))).toBe(4401);
  });

  test('tickets are for who may read: unknown, foreign and malformed rooms are 404', async () => {
    for (const name of [`post:${newId()}`, 'nothing', `designer:${newId()}`])
      expect((await ann.client.post('/collaboration/ticket', { room: name })).status).toBe(404);
    expect((await eve.client.post('/collaboration/ticket', { room })).status).toBe(404);
    const { expiresAt } = (await ann.client.post('/collaboration/ticket', { room })).body;
    expect(Date.parse(expiresAt) - Date.now()).toBeLessThanOrEqual(600_000);
  });

  test.each([
    ['nobody', {}],
    ['a wrong key', { authorization: `pm_live_${'x'.repeat(43)}` }],
    ['a wrong key beside a good cookie', { authorization: `pm_live_${'x'.repeat(43)}`, cookie: cookieOf(ann), origin }],
    ['a wrong session', { auth: 'x' }],
    ['the cookie of a page of another origin', { cookie: cookieOf(ann), origin: 'https://evil.example' }],
    ['the cookie without an origin', { cookie: cookieOf(ann) }],
  ])('%s is closed with 4401 [S204, S14, X22]', async (_, headers) => {
    expect(await codeOf(world.join(room, { headers: headers as Record<string, string> }))).toBe(4401);
  });

  test('a session is no ticket, and a ticket no session', async () => {
    const token = await ticketOf();
    expect((await app.client().get('/user/self', { auth: token })).status).toBe(401);
    const path = `/collaboration/${room}?token=${ann.client.cookies.get('auth')}`;
    expect(await codeOf(world.join(room, { headers: {}, path }))).toBe(4401);
  });

  test('an access token writes by its scope, and one for an MCP surface opens nothing [S14]', async () => {
    const oauthApp = await makeApp(ann);
    const tokenFor = async (more: Record<string, string>) => {
      const { code } = await approve(ann, oauthApp.clientId, { scope: 'mcp:read', ...more });
      const form = { grant_type: 'authorization_code', code, redirect_uri: 'https://client.example/callback' };
      const { body } = await exchange(app, oauthApp, form);
      return body.access_token as string;
    };
    const reader = await world.joined(room, { headers: { authorization: await tokenFor({}) } });
    reader.write('refused');
    await settles(() => expect(reader.denied).toEqual(['permission denied']));
    const writing = await world.joined(room, {
      headers: { authorization: await tokenFor({ scope: 'mcp:read mcp:posts:write' }) },
    });
    writing.write('taken');
    await settles(() => expect(reader.xml).toContain('taken'));
    const bound = await tokenFor({ resource: `${app.context.config.http.backendUrl}/mcp` });
    expect(await codeOf(world.join(room, { headers: { authorization: bound } }))).toBe(4401);
    await Promise.all([reader.close(), writing.close()]);
  });

  test('a role without the right to read is closed with 4403, whatever there is [S206]', async () => {
    const [{ id }] = await db.sql<{ id: string }[]>`
      insert into roles (id, org_id, name, permissions)
      values (${newId()}, ${ann.orgId}, 'Nothing', '{channels:read}') returning id`.then(
      (rows) => [...rows] as [{ id: string }],
    );
    const nobody = await world.member(id);
    expect(await codeOf(world.join(room, { headers: { authorization: nobody.key } }))).toBe(4403);
    expect(await codeOf(world.join(`post:${newId()}`, { headers: { authorization: nobody.key } }))).toBe(4403);
  });
});

test('nobody opens a room while acting as somebody else', () => {
  const owner = { kind: 'session', userId: newId(), orgId: newId(), roleKey: 'owner', isSuperAdmin: false } as const;
  const principal = { ...owner, permissions: permissionsOf('owner', false) };
  expect(rightsOf(principal, { kind: 'post' }, null)).toBe('write');
  expect(rightsOf({ ...principal, impersonatorId: newId() }, { kind: 'post' }, null)).toBe('none');
});

/** By hand: what each role may do with a post of somebody else and with an own one. */
const ROLES: [role: string, others: 'write' | 'read', own: 'write' | 'read'][] = [
  ['owner', 'write', 'write'],
  ['admin', 'write', 'write'],
  ['editor', 'write', 'write'],
  ['member', 'read', 'write'],
  ['viewer', 'read', 'read'],
];

describe('rights', () => {
  test.each(ROLES)(
    '%s: of somebody else %s, own %s; a refusal is said once and nothing is changed [S207, X22]',
    async (role, others, own) => {
      const person = await world.member(role);
      for (const [author, rights] of [
        [ann.userId, others],
        [person.userId, own],
      ] as const) {
        const id = await world.draftOf(author);
        const watcher = await world.joined(`post:${id}`);
        const editor = await world.joined(`post:${id}`, { headers: { authorization: person.key } });
        editor.write('typed');
        editor.write('again');
        if (rights === 'write') await settles(() => expect(watcher.xml).toContain('again'));
        else {
          await settles(() => expect(editor.denied).toEqual(['permission denied']));
          expect(watcher.xml).toBe('<paragraph>Hello</paragraph>');
        }
        await Promise.all([editor.close(), watcher.close()]);
        if (rights === 'write') await world.holds(id, '<p>Hello</p><p>typed</p><p>again</p>');
        else expect(await world.contentOf(id)).toBe('<p>Hello</p>');
      }
    },
  );

  test('are judged again while the connection is open: role, membership and session [S204]', async () => {
    const id = await world.draftOf(ann.userId);
    const person = await world.member('editor');
    const editor = await world.joined(`post:${id}`, {
      headers: { auth: person.client.cookies.get('auth')!, showorg: ann.orgId },
    });
    const program = await world.joined(`post:${id}`, { headers: { authorization: person.key } });
    await db.sql`update memberships set role_key = 'viewer' where org_id = ${ann.orgId} and user_id = ${person.userId}`;
    await settles(() => {
      editor.write('late');
      expect(editor.denied).toEqual(['permission denied']);
    });
    expect((await person.client.post('/user/sessions/revoke-all', {})).status).toBe(200);
    expect(await codeOf(editor)).toBe(4401);
    await db.sql`update memberships set disabled = true where org_id = ${ann.orgId} and user_id = ${person.userId}`;
    expect(await codeOf(program)).toBe(4401);
  });
});

describe('frames', () => {
  test('the server asks at once, echoes updates and awareness to all, and answers a query [S205]', async () => {
    const id = await world.draft();
    const [one, two] = [await world.joined(`post:${id}`), await world.joined(`post:${id}`)];
    expect(one.frames[0]).toMatchObject({ type: 0, step: 0 });
    one.frames.length = 0;
    one.write('echoed');
    one.awareness.setLocalState({ user: { name: 'Ann' } });
    await settles(() => {
      expect(one.frames.some(({ type, step }) => type === 0 && step === 2)).toBe(true);
      expect(one.frames.some(({ type }) => type === 1)).toBe(true);
      expect(two.xml).toContain('echoed');
      expect(two.awareness.getStates().get(one.doc.clientID)).toEqual({ user: { name: 'Ann' } });
    });
    two.frames.length = 0;
    two.send(varint(3));
    await settles(() => expect(two.frames.some(({ type }) => type === 1)).toBe(true));
    await one.close();
    await settles(() => expect(two.awareness.getStates().has(one.doc.clientID)).toBe(false));
    expect(two.server).toMatchObject({ readOnly: null, problem: null });
    await two.close();
  });

  test.each([
    ['a text', 1003, 'hello'],
    ['an empty frame', 1003, Buffer.alloc(0)],
    ['an unknown type', 1003, Buffer.from([9])],
    ['an unknown step', 1003, Buffer.from([0, 7, 0])],
    ['a length beyond the frame', 1003, Buffer.from([0, 2, 100, 1])],
    ['bytes behind a frame', 1003, Buffer.concat([syncFrame(0, Uint8Array.of(0)), Buffer.from([1])])],
    ['an update that is none', 1003, Buffer.from(syncFrame(2, Uint8Array.of(255, 255, 3)))],
    ['a state vector that is none', 1003, Buffer.from(syncFrame(0, Uint8Array.of(200)))],
    ['awareness that is no JSON', 1003, Buffer.from([1, 6, 1, 1, 1, 2, 123, 123])],
    [
      'the dialect with a document name in front',
      1003,
      Buffer.concat([counted(Buffer.from(room)), Buffer.from([2, 0])]),
    ],
    ['more than 1 MB', 1009, Buffer.alloc(1_000_001)],
  ])('%s closes with %d, and the document is unchanged [S206, X22]', async (_, code, frame) => {
    const watcher = await world.joined(room);
    const before = [watcher.xml, (await world.stored(room))?.version];
    const editor = await world.joined(room);
    editor.socket.send(frame);
    expect(await codeOf(editor)).toBe(code);
    expect([watcher.xml, (await world.stored(room))?.version]).toEqual(before);
    await watcher.close();
  });

  test('something is said at least every 20 s, whatever else is [S205]', async () => {
    const clock = clockWhere((ms) => (ms > 10_000 && ms <= 20_000 ? 50 : ms));
    const quick = await testApp({ sql: db.sql, clock, ...world.world.beside });
    const editor = await world.joined(room, {}, quick.address);
    editor.frames.length = 0;
    await settles(() => expect(editor.frames.filter(({ type }) => type === 1).length).toBeGreaterThan(3));
    await editor.close();
    await quick[Symbol.asyncDispose]();
  });

  test('whatever is sent, the process and the neighbours are unharmed [X22]', async () => {
    const id = await world.draft();
    const watcher = await world.joined(`post:${id}`);
    watcher.write('before');
    const real = [
      syncFrame(0, Y.encodeStateVector(watcher.doc)),
      syncFrame(2, Y.encodeStateAsUpdate(watcher.doc)),
      awarenessFrameOf(encodeAwarenessUpdate(watcher.awareness, [watcher.doc.clientID])),
    ];
    const cut = fc
      .tuple(fc.constantFrom(...real), fc.nat(), fc.uint8Array({ maxLength: 5 }))
      .map(([frame, at, more]) => Buffer.concat([frame.subarray(0, at % frame.length), more]));
    const noise = fc
      .tuple(fc.nat(4), fc.nat(3), fc.uint8Array({ maxLength: 40 }))
      .map(([type, step, rest]) => Buffer.from([type, step, ...rest]));
    let hostile = await world.joined(`post:${id}`, { isSilent: true });
    for (const frame of fc.sample(fc.oneof(cut, noise), { numRuns: 300, seed: 7 })) {
      if (hostile.socket.readyState !== hostile.socket.OPEN) {
        expect([1003, 1009]).toContain(await codeOf(hostile));
        hostile = world.join(`post:${id}`, { isSilent: true });
        await new Promise((open) => hostile.socket.once('open', open));
      }
      hostile.socket.send(frame);
    }
    watcher.write('after');
    await world.holds(id, '<p>Hello</p><p>before</p><p>after</p>');
    expect(app.context.health.draining).toBe(false);
    await Promise.all([watcher.close(), hostile.close()]);
  });

  test('more than 600 frames in ten seconds close with 1008 [S206]', async () => {
    const editor = await world.joined(room);
    for (let n = 0; n < 610; n += 1) editor.send(varint(3));
    expect(await codeOf(editor)).toBe(1008);
  });
});

describe('limits', () => {
  test('after 120 refusals of an address in an hour the upgrade is refused with 429 [S15]', async () => {
    const strict = await testApp({ sql: db.sql, env: { RATE_LIMIT_SCALE: '1' }, ...world.world.beside });
    const headers = { authorization: `pm_live_${'x'.repeat(43)}` };
    for (let n = 0; n < 120; n += 1) expect(await codeOf(world.join(room, { headers }, strict.address))).toBe(4401);
    const { status, body } = await world.join(room, { headers }, strict.address).refused;
    expect([status, JSON.parse(body).code]).toEqual([429, 'rate_limited']);
    const path = `/collaboration/${room}?token=x`;
    expect((await world.join(room, { headers: {}, path }, strict.address).refused).status).toBe(429);
    await strict[Symbol.asyncDispose]();
  });

  test('a person has 20 connections; the next is closed with 1013', async () => {
    const person = await world.member('editor');
    const headers = { authorization: person.key };
    const editors = await Promise.all(Array.from({ length: 20 }, () => world.joined(room, { headers })));
    expect(await codeOf(world.join(room, { headers }))).toBe(1013);
    await Promise.all(editors.map((editor) => editor.close()));
    await (await world.joined(room, { headers })).close();
  });

  test('a large awareness state, a root of another name and a document that is too large are refused by a frame', async () => {
    const id = await world.draft();
    const [editor, watcher] = [await world.joined(`post:${id}`), await world.joined(`post:${id}`)];
    editor.awareness.setLocalState({ user: 'x'.repeat(16_001) });
    await settles(() => expect(editor.denied).toEqual([expect.stringContaining('16000 bytes')]));
    editor.doc.getMap('other').set('a', 1);
    await settles(() => expect(editor.denied[1]).toContain('no other root'));
    const large = new Y.Doc();
    for (let n = 0; n < 6; n += 1) {
      const before = Y.encodeStateVector(large);
      large.getMap('settings').set(`k${n}`, 'x'.repeat(900_000));
      editor.send(syncFrame(2, Y.encodeStateAsUpdate(large, before)));
    }
    await settles(() => expect(editor.denied[2]).toContain('larger than'));
    await settles(() =>
      expect([...watcher.doc.getMap('settings').keys()].filter((name) => name.startsWith('k'))).toHaveLength(5),
    );
    await Promise.all([editor.close(), watcher.close()]);
  });

  test('a reader who does not read is closed and slows nobody', async () => {
    const id = await world.draft();
    const [editor, slow] = [await world.joined(`post:${id}`), await world.joined(`post:${id}`)];
    for (let n = 0; n < 4; n += 1) editor.doc.getMap('settings').set(`k${n}`, 'x'.repeat(900_000));
    await settles(() => expect(slow.doc.getMap('settings').has('k3')).toBe(true));
    slow.socket.pause();
    for (let n = 0; n < 10; n += 1) slow.socket.send(syncFrame(0, Uint8Array.of(0)));
    const other = await world.joined(`post:${id}`);
    other.write('goes on');
    await settles(() => expect(editor.xml).toContain('goes on'));
    await settles(() => expect(other.awareness.getStates().has(slow.doc.clientID)).toBe(false)); // it has left the room
    slow.socket.resume();
    expect([1006, 1013]).toContain(await codeOf(slow));
    await Promise.all([editor.close(), other.close()]);
  });
});
