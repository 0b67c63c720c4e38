import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { type CoEditor, openCoEditor } from '../../support/wire/co-editor.ts';
import { settles } from '../../support/wire/settles.ts';
import type { SignedUp } from '../../support/worlds/app.ts';
import { designerWorld, step } from '../../support/worlds/studio/designer-world.ts';

// Rooms that stand for something else than posts: each holds one map, which the room that owns the rows saves.

const db = await testDatabase({ connections: 8 });
const world = await designerWorld({ db });
const [ann, eve] = [await world.person(), await world.person()];
const [annKey, eveKey] = [await keyOf(ann), await keyOf(eve)];
const editors: CoEditor[] = [];
afterEach(() => world.rest());
afterAll(async () => {
  for (const { socket } of editors) socket.terminate();
  await world[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

async function keyOf(person: SignedUp): Promise<string> {
  return (await person.withKey()).key;
}
function join(room: string, authorization = annKey): CoEditor {
  const editor = openCoEditor(world.app.address, room, { headers: { authorization } });
  editors.push(editor);
  return editor;
}
async function joined(room: string, authorization = annKey): Promise<CoEditor> {
  const editor = join(room, authorization);
  await Promise.race([
    editor.synced,
    editor.closed.then(({ code, reason }) => Promise.reject(new Error(`closed: ${code} ${reason}`))),
  ]);
  return editor;
}
/** Somebody with a role in the organization of Ann. */
async function member(role: string) {
  const person = await world.app.signUp();
  await db.sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${person.userId}, ${role})`;
  person.client.headers['showorg'] = ann.orgId;
  return { ...person, key: await keyOf(person) };
}
const { client } = ann;
const made = async (path: string, body: object): Promise<string> => {
  const answer = await client.post(path, body);
  if (answer.status >= 300) throw new Error(answer.text);
  return answer.body.id as string;
};
const campaign = async (name = `Launch ${newId()}`) => made('/campaigns', { name, color: '#112233' });
const kit = async () => made('/brand-kits', { name: 'House', colors: ['#112233'], voice: 'Calm' });
/** A session that waits for the approval of a plan with a picture and the text of a post. */
async function session(): Promise<string> {
  world.script.plan = () => ({
    message: 'Here is a plan',
    steps: [step('hero', 'image', { size: '64x48' }), step('post', 'copy', { channelIds: [ann.channel] })],
  });
  world.work();
  const id = await world.begin(ann);
  await world.comes(ann, id, 'awaiting_plan');
  return id;
}
const planOf = async (id: string) => (await world.see(ann, id)).plan;
const problemOf = ({ server }: CoEditor) => server?.['problem'];

describe('the room of a campaign', () => {
  test('holds its fields, saves what is typed into one, and shows what is changed elsewhere [S203, S208]', async () => {
    const id = await campaign('Spring');
    const editor = await joined(`campaign:${id}`);
    const settings = editor.doc.getMap<unknown>('settings');
    expect(settings.toJSON()).toEqual({
      name: 'Spring',
      color: '#112233',
      description: '',
      startDate: null,
      endDate: null,
    });
    settings.set('description', 'Typed together');
    await settles(async () =>
      expect((await client.get(`/campaigns/${id}`)).body).toMatchObject({
        name: 'Spring',
        description: 'Typed together',
      }),
    );
    expect((await client.send('PATCH', `/campaigns/${id}`, { endDate: '2999-01-31' })).status).toBe(200);
    await settles(() => expect(settings.get('endDate')).toBe('2999-01-31'));
    const tag = (await client.get(`/campaigns/${id}`)).body.tagId;
    expect((await client.put(`/posts/tags/${tag}`, { name: 'Summer' })).status).toBe(200);
    await settles(() => expect(settings.get('name')).toBe('Summer'));
    await editor.close();
  });

  test('keeps what cannot be saved, and says why: an unknown field, a date before another, a name that is taken', async () => {
    const [id, other] = [await campaign('Autumn'), await campaign('Winter')];
    const editor = await joined(`campaign:${id}`);
    const settings = editor.doc.getMap<unknown>('settings');
    settings.set('budget', 5);
    await settles(() => expect(problemOf(editor)).toMatchObject({ code: 'unknown_field' }));
    settings.delete('budget');
    settings.set('name', 'Winter');
    await settles(() => expect(problemOf(editor)).toMatchObject({ code: 'conflict' }));
    editor.doc.transact(() => {
      settings.set('name', 'Autumn');
      settings.set('startDate', '2999-02-02');
      settings.set('endDate', '2999-02-01');
    });
    await settles(() => expect(problemOf(editor)).toMatchObject({ code: 'validation_failed' }));
    expect((await client.get(`/campaigns/${id}`)).body).toMatchObject({ name: 'Autumn', startDate: null });
    settings.set('endDate', '2999-02-03');
    await settles(async () =>
      expect((await client.get(`/campaigns/${id}`)).body).toMatchObject({ endDate: '2999-02-03' }),
    );
    await settles(() => expect(problemOf(editor)).toBeNull());
    expect((await client.delete(`/campaigns/${other}`)).status).toBe(200);
    expect((await client.delete(`/campaigns/${id}`)).status).toBe(200);
    await settles(() => expect(editor.server?.['readOnly']).toBe('deleted'));
    await editor.close();
    expect((await join(`campaign:${id}`).closed).code).toBe(4404);
  });
});

describe('the room of a brand kit', () => {
  test('holds its fields; two people change two of them at once, and both are saved [S203, S208]', async () => {
    const id = await kit();
    const person = await member('editor');
    const [mine, hers] = [await joined(`brand-kit:${id}`), await joined(`brand-kit:${id}`, person.key)];
    expect(hers.doc.getMap('settings').toJSON()).toMatchObject({
      name: 'House',
      colors: ['#112233'],
      fonts: [],
      voice: 'Calm',
      isDefault: false,
    });
    mine.doc.getMap('settings').set('colors', ['#445566']);
    hers.doc.getMap('settings').set('doList', ['Say thanks']);
    await settles(async () =>
      expect((await client.get(`/brand-kits/${id}`)).body).toMatchObject({
        colors: ['#445566'],
        doList: ['Say thanks'],
        voice: 'Calm',
      }),
    );
    mine.doc.getMap('settings').set('colors', ['red']);
    await settles(() => expect(problemOf(mine)).toMatchObject({ code: 'validation_failed' }));
    expect((await client.get(`/brand-kits/${id}`)).body.colors).toEqual(['#445566']);
    await Promise.all([mine.close(), hers.close()]);
  });

  test('a version is restored to the kit, and who has it open goes on', async () => {
    const id = await kit();
    const versions = `/collaboration/brand-kit:${id}/versions`;
    const before = (await client.post(versions, {})).body;
    expect(before.settings).toMatchObject({ voice: 'Calm' });
    const editor = await joined(`brand-kit:${id}`);
    editor.doc.getMap('settings').set('voice', 'Loud');
    await settles(async () => expect((await client.get(`/brand-kits/${id}`)).body.voice).toBe('Loud'));
    expect((await client.post(`${versions}/${before.id}/restore`, {})).status).toBe(200);
    await settles(() => expect(editor.doc.getMap('settings').get('voice')).toBe('Calm'));
    expect((await client.get(`/brand-kits/${id}`)).body.voice).toBe('Calm');
    await editor.close();
  });

  test('is saved only over what was read: of two changes of one field the one from elsewhere is not lost unseen', async () => {
    const { brandKits, posts } = world.app.context;
    const [kitId, campaignId] = [await kit(), await campaign('As read')];
    const kitNow = await brandKits.changeBrandKit(ann.orgId, kitId, { voice: 'Late' }, ({ voice }) => voice !== 'Calm');
    expect(kitNow.voice).toBe('Calm');
    const campaignNow = await posts.changeCampaign(ann.orgId, campaignId, { name: 'Late' }, () => false);
    expect(campaignNow.name).toBe('As read');
  });
});

describe('the room of a designer session', () => {
  test('holds titles and briefs of the plan that is awaited; what is typed is in the plan, and its hash follows [S191, S203]', async () => {
    const id = await session();
    const seen = await planOf(id);
    const editor = await joined(`designer:${id}`);
    const plan = editor.doc.getMap<unknown>('plan');
    expect(plan.toJSON()).toEqual({
      'hero.title': 'The image',
      'hero.brief': 'Make hero',
      'post.title': 'The copy',
      'post.brief': 'Make post',
    });
    plan.set('post.brief', 'Say it in one sentence');
    await settles(async () => expect((await planOf(id)).steps[1].brief).toBe('Say it in one sentence'));
    const changed = await planOf(id);
    expect(changed.hash).not.toBe(seen.hash);
    expect(changed.steps[0]).toEqual(seen.steps[0]);
    expect(await world.act(ann, id, 'approve-plan', { planHash: seen.hash })).toMatchObject({ status: 409 });
    await settles(() => expect(editor.server).toMatchObject({ readOnly: null, problem: null }));
    expect((await world.act(ann, id, 'approve-plan', { planHash: changed.hash })).body.state).toBe('executing');
    await world.comes(ann, id, 'completed');
    expect(world.script.copies.at(-1)!['brief']).toBe('Say it in one sentence');
    await settles(() => expect(editor.server?.['readOnly']).toBe('not_awaiting_plan'));
    plan.set('post.brief', 'refused');
    await settles(() => expect(editor.denied).toEqual(['permission denied']));
    await editor.close();
  }, 60_000);

  test('shows the next plan in the place of the last, and what was typed too late is a version', async () => {
    const id = await session();
    const editor = await joined(`designer:${id}`);
    const plan = editor.doc.getMap<unknown>('plan');
    world.script.plan = () => ({ message: 'Another', steps: [step('only', 'copy', { channelIds: [ann.channel] })] });
    expect((await world.act(ann, id, 'messages', { content: 'Less' })).body.state).toBe('planning');
    plan.set('hero.brief', 'typed too late');
    await world.comes(ann, id, 'awaiting_plan');
    await settles(() => expect(plan.toJSON()).toEqual({ 'only.title': 'The copy', 'only.brief': 'Make only' }));
    await settles(() => expect(editor.server?.['readOnly']).toBeNull());
    plan.set('only.title', 'Typed in time');
    await settles(async () => expect((await planOf(id)).steps[0].title).toBe('Typed in time'));
    const versions = (await client.get(`/collaboration/designer:${id}/versions`)).body as { id: string }[];
    const kept = await Promise.all(
      versions.map(async (one) => (await client.get(`/collaboration/designer:${id}/versions/${one.id}`)).body.plan),
    );
    expect(kept.some((words) => words?.['hero.brief'] === 'typed too late')).toBe(true);
    await editor.close();
  }, 60_000);

  test('keeps what is no plan, and says why: words of no step, a step without words, no room in the budget', async () => {
    const id = await session();
    const seen = await planOf(id);
    const editor = await joined(`designer:${id}`);
    const plan = editor.doc.getMap<unknown>('plan');
    plan.set('other.title', 'Nobody has asked for it');
    await settles(() => expect(problemOf(editor)).toMatchObject({ code: 'unknown_field' }));
    plan.delete('other.title');
    plan.set('hero.title', ' ');
    await settles(() => expect(problemOf(editor)).toMatchObject({ code: 'validation_failed' }));
    await client.put('/ai/budget', { monthlyCents: 0 });
    plan.set('hero.title', 'A picture');
    await settles(() => expect(problemOf(editor)).toMatchObject({ code: 'limit_exceeded' }));
    expect(await planOf(id)).toEqual(seen);
    await client.put('/ai/budget', { monthlyCents: 100_000 });
    plan.set('hero.title', 'The picture');
    await settles(async () => expect((await planOf(id)).steps[0].title).toBe('The picture'));
    await editor.close();
  }, 60_000);

  test('has no part of a post, and a post none of a plan [S208]', async () => {
    const editor = await joined(`designer:${await session()}`);
    editor.doc.getMap('settings').set('a', 1);
    await settles(() => expect(editor.denied).toEqual([expect.stringContaining('no other root')]));
    const kitEditor = await joined(`brand-kit:${await kit()}`);
    kitEditor.doc.getMap('plan').set('a', 1);
    await settles(() => expect(kitEditor.denied).toEqual([expect.stringContaining('no other root')]));
    await Promise.all([editor.close(), kitEditor.close()]);
  }, 60_000);
});

type Right = 'write' | 'read' | 4403;
/** By hand: what each role may do in each kind of room; of campaigns with one of somebody else, and with an own one. */
const RIGHTS: [role: string, campaign: Right, ownCampaign: Right, kit: Right, designer: Right][] = [
  ['owner', 'write', 'write', 'write', 'write'],
  ['admin', 'write', 'write', 'write', 'write'],
  ['editor', 'write', 'write', 'write', 'write'],
  ['member', 'read', 'write', 'read', 'read'],
  ['viewer', 'read', 'read', 'read', 4403],
];

describe('rights in rooms', () => {
  test.each(RIGHTS)(
    '%s: campaign %s, own %s; brand kit %s; designer session %s, by socket, ticket and versions [S204, S206, S207]',
    async (role, ...rights) => {
      const person = await member(role);
      const own = await campaign();
      await db.sql`update campaigns set created_by = ${person.userId} where id = ${own}`;
      const rooms = [
        `campaign:${await campaign()}`,
        `campaign:${own}`,
        `brand-kit:${await kit()}`,
        `designer:${await session()}`,
      ];
      for (const [n, room] of rooms.entries()) {
        const right = rights[n]!;
        const [map, field] = room.startsWith('designer') ? ['plan', 'hero.brief'] : ['settings', 'name'];
        const may = { ticket: right === 4403 ? 403 : 200, keep: right === 'write' ? 201 : 403 };
        expect((await person.client.post('/collaboration/ticket', { room })).status).toBe(may.ticket);
        expect((await person.client.get(`/collaboration/${room}/versions`)).status).toBe(may.ticket);
        expect((await person.client.post(`/collaboration/${room}/versions`, {})).status).toBe(may.keep);
        if (right === 4403) {
          expect((await join(room, person.key).closed).code).toBe(4403);
          continue;
        }
        const [watcher, editor] = [await joined(room), await joined(room, person.key)];
        const before = watcher.doc.getMap(map!).get(field!);
        editor.doc.getMap(map!).set(field!, `Typed by ${role}`);
        if (right === 'write')
          await settles(() => expect(watcher.doc.getMap(map!).get(field!)).toBe(`Typed by ${role}`));
        else {
          await settles(() => expect(editor.denied).toEqual(['permission denied']));
          expect(watcher.doc.getMap(map!).get(field!)).toBe(before);
        }
        await Promise.all([watcher.close(), editor.close()]);
      }
    },
    60_000,
  );

  test.each([
    ['campaign', 'campaigns'],
    ['brand-kit', 'brand_kits'],
    ['designer', 'ai'],
  ])(
    'rooms %s are written by a role with %s alone, and no other kind is opened [S206, S207]',
    async (kind, resource) => {
      const role = newId();
      await db.sql`
      insert into roles (id, org_id, name, permissions)
      values (${role}, ${ann.orgId}, ${resource}, ${[`${resource}:read`, `${resource}:update`]})`;
      const person = await member(role);
      const ids = { campaign: await campaign(), 'brand-kit': await kit(), designer: await session() };
      for (const [other, id] of [...Object.entries(ids), ['post', newId()], ['group', 'any']] as const) {
        if (other !== kind) {
          expect((await join(`${other}:${id}`, person.key).closed).code).toBe(4403);
          expect((await person.client.get(`/collaboration/${other}:${id}/versions`)).status).toBe(403);
          continue;
        }
        expect((await person.client.post(`/collaboration/${other}:${id}/versions`, {})).status).toBe(201);
        await (await joined(`${other}:${id}`, person.key)).close();
      }
    },
  );

  test('are judged again while the room is open: who loses the permission reads on, or is closed [S204]', async () => {
    const person = await member('editor');
    const [inKit, inSession] = [
      await joined(`brand-kit:${await kit()}`, person.key),
      await joined(`designer:${await session()}`, person.key),
    ];
    await db.sql`update memberships set role_key = 'viewer' where org_id = ${ann.orgId} and user_id = ${person.userId}`;
    expect((await inSession.closed).code).toBe(4403);
    inKit.doc.getMap('settings').set('voice', 'refused');
    await settles(() => expect(inKit.denied).toEqual(['permission denied']));
    await inKit.close();
  }, 60_000);

  test.each(['campaign', 'brand-kit', 'designer'])(
    'a room %s of another organization, or of nothing, is 4404 by socket and 404 for tickets and versions [S9, S206, X22]',
    async (kind) => {
      const id = await { campaign, 'brand-kit': kit, designer: session }[kind]!();
      const watcher = await joined(`${kind}:${id}`);
      for (const room of [`${kind}:${id}`, `${kind}:${newId()}`, `${kind}:1`]) {
        const stranger = join(room, eveKey);
        expect((await stranger.closed).code).toBe(4404);
        for (const answer of [
          await eve.client.post('/collaboration/ticket', { room }),
          await eve.client.get(`/collaboration/${room}/versions`),
          await eve.client.post(`/collaboration/${room}/versions`, {}),
        ])
          expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
      }
      expect(await db.sql`select from collaboration_documents where org_id = ${eve.orgId}`).toHaveLength(0);
      await watcher.close();
    },
  );
});

test('documents of campaigns, brand kits and sessions are deleted with what they stand for, and not before', async () => {
  const rooms = [`campaign:${await campaign()}`, `brand-kit:${await kit()}`, `designer:${await session()}`];
  for (const room of rooms) await (await joined(room)).close();
  const left = async () =>
    (await db.sql<{ room: string }[]>`select room from collaboration_documents where room = any(${rooms})`).map(
      ({ room }) => room,
    );
  const swept = async () => {
    await db.sql`update collaboration_documents set checked_at = now() - interval '2 days'`;
    await world.app.context.documents.sweep(1_000);
    return (await left()).toSorted();
  };
  expect(await swept()).toEqual(rooms.toSorted());
  const idIn = (room: string) => room.slice(room.indexOf(':') + 1);
  expect((await client.delete(`/campaigns/${idIn(rooms[0]!)}`)).status).toBe(200);
  expect((await client.delete(`/brand-kits/${idIn(rooms[1]!)}`)).status).toBe(200);
  expect((await client.delete(`/ai/designer/sessions/${idIn(rooms[2]!)}`)).status).toBe(200);
  expect(await swept()).toEqual([]);
}, 60_000);
