import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { settles } from '../../support/wire/settles.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
beforeAll(async () => {
  db = await testDatabase({ connections: 8 });
  app = await testApp({ sql: db.sql });
  await app.signUp(); // the super-admin
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
const join = async (org: SignedUp, role: string): Promise<SignedUp> => {
  const user = await app.signUp();
  await db.sql`insert into memberships (org_id, user_id, role_key) values (${org.orgId}, ${user.userId}, ${role})`;
  user.client.headers['showorg'] = org.orgId;
  return user;
};

describe('settings', () => {
  const defaults = {
    timezone: 'UTC',
    approvalRequired: false,
    missedPolicy: 'publish',
    reconnectPolicy: 'publish',
    shortlink: 'ASK',
    defaultShortlinkProviderId: null,
  };

  test('have defaults, can all be set, and a change leaves the others unchanged [S209]', async () => {
    const ann = await app.signUp();
    expect((await ann.client.get('/settings')).body).toEqual(defaults);
    const change = {
      timezone: 'Europe/Berlin',
      approvalRequired: 'members',
      missedPolicy: 'drop',
      reconnectPolicy: 'ask',
    };
    expect((await ann.client.put('/settings', change)).body).toEqual({ ...defaults, ...change });
    expect((await ann.client.put('/settings', { shortlink: 'NO' })).body).toEqual({
      ...defaults,
      ...change,
      shortlink: 'NO',
    });
    expect((await ann.client.put('/settings', {})).body.shortlink).toBe('NO');
    expect((await ann.client.get('/orgs/current')).body.timezone).toBe('Europe/Berlin');
    const [note] = await db.sql`
        select user_id, detail
        from audit_log
        where org_id = ${ann.orgId} and action = 'settings.updated'
        order by id limit 1`;
    expect(note).toEqual({ user_id: ann.userId, detail: change });
  });

  test('keep all concurrent changes', async () => {
    const ann = await app.signUp();
    await Promise.all([
      ann.client.put('/settings', { defaultShortlinkProviderId: 'isgd' }),
      ann.client.put('/settings', { reconnectPolicy: 'drop' }),
      ann.client.put('/settings', { timezone: 'Asia/Tokyo' }),
      ann.client.post('/settings/shortlink', { shortlink: 'NO' }),
    ]);
    expect((await ann.client.get('/settings')).body).toMatchObject({
      defaultShortlinkProviderId: 'isgd',
      reconnectPolicy: 'drop',
      timezone: 'Asia/Tokyo',
      shortlink: 'NO',
    });
  });

  test('reject a wrong value by its field; a shortlink provider must be a registered one [S6]', async () => {
    const ann = await app.signUp();
    for (const [field, value] of Object.entries({
      timezone: 'Mars/Olympus',
      approvalRequired: true,
      missedPolicy: 'later',
      reconnectPolicy: null,
      shortlink: 'yes',
      defaultShortlinkProviderId: 'no-such-provider',
    })) {
      const { status, body } = await ann.client.put('/settings', { shortlink: 'YES', [field]: value });
      expect([field, status, body.errors?.[0]?.field]).toEqual([field, 400, field]);
    }
    expect((await ann.client.put('/settings', { mcp: { allowedScopes: [] } })).body.code).toBe('unknown_field');
    expect((await ann.client.get('/settings')).body).toEqual(defaults);
    expect((await ann.client.put('/settings', { defaultShortlinkProviderId: null })).status).toBe(200);
  });

  test('of short links have a route of their own and appear among all settings', async () => {
    const ann = await app.signUp();
    expect((await ann.client.get('/settings/shortlink')).body).toEqual({ shortlink: 'ASK' });
    expect((await ann.client.post('/settings/shortlink', { shortlink: 'YES' })).body).toEqual({ shortlink: 'YES' });
    expect((await ann.client.get('/settings')).body.shortlink).toBe('YES');
  });

  test('are read by every member and changed by permitted members [S54]', async () => {
    const ann = await app.signUp();
    const viewer = await join(ann, 'viewer');
    expect((await viewer.client.get('/settings')).status).toBe(200);
    expect((await viewer.client.put('/settings', { shortlink: 'NO' })).status).toBe(403);
    expect((await (await join(ann, 'admin')).client.put('/settings', { shortlink: 'NO' })).status).toBe(200);
  });
});

describe('an org', () => {
  test('is created, renamed and set to a time zone, each with an audit entry [S44, S270]', async () => {
    const ann = await app.signUp();
    const { body } = await ann.client.post('/orgs', { name: 'Second' });
    const here = { showorg: body.id };
    expect((await ann.client.put('/orgs/current', { name: 'Renamed' }, here)).body).toEqual({
      ...body,
      name: 'Renamed',
    });
    expect((await ann.client.put('/orgs/current', { timezone: 'Asia/Tokyo' }, here)).body).toEqual({
      ...body,
      name: 'Renamed',
      timezone: 'Asia/Tokyo',
    });
    expect(await db.sql`select action, detail from audit_log where org_id = ${body.id} order by id`).toEqual([
      { action: 'org.created', detail: { name: 'Second' } },
      { action: 'org.updated', detail: { name: 'Renamed' } },
      { action: 'org.updated', detail: { timezone: 'Asia/Tokyo' } },
    ]);
  });

  test('is deleted only by an owner who repeats its name [S44]', async () => {
    const ann = await app.signUp({ company: 'Acme' });
    const admin = await join(ann, 'admin');
    expect((await admin.client.delete('/orgs/current', { confirm: 'Acme' })).status).toBe(403);
    for (const confirm of ['acme', 'Acme ', '']) {
      const { status, body } = await ann.client.delete('/orgs/current', { confirm });
      expect([status, body.errors[0].field]).toEqual([400, 'confirm']);
    }
    expect((await ann.client.delete('/orgs/current', {})).body.errors[0].field).toBe('confirm');
    expect((await ann.client.get('/orgs/current')).status).toBe(200);
  });

  test('rejects every credential once deleted, publishes nothing and leaves no user without an org [S44, S45, GN2]', async () => {
    const ann = await app.signUp({ company: 'Acme' });
    const bob = await join(ann, 'editor');
    const key = await ann.withKey();
    const invited = (
      await ann.client.post('/members/invitations', { email: (await app.signUp()).email, role: 'viewer' })
    ).body;
    const [channelId, postId] = [newId(), newId()];
    await db.sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials, next_due_at)
      values (${channelId}, ${ann.orgId}, 'sandbox', 'v1', 'x', 'x', 'x', now())`;
    await db.sql`
      insert into posts (id, org_id, channel_id, group_id, state, detail, content, publish_date, due_at)
      values (${postId}, ${ann.orgId}, ${channelId}, 'g', 'QUEUE', 'scheduled', 'x', now() + interval '1 day',
        now() + interval '1 day')`;

    expect((await ann.client.delete('/orgs/current', { confirm: 'Acme' })).body).toEqual({ success: true });
    await settles(async () => expect((await key.get('/public/v1/is-connected')).status).toBe(401));
    expect((await bob.client.get('/user/self')).body.orgId).toBe(bob.orgId);
    expect((await ann.client.get('/user/self')).body).toMatchObject({ orgName: 'My organization', role: 'owner' });
    expect(await db.sql`select disabled, next_due_at from channels where id = ${channelId}`).toEqual([
      { disabled: true, next_due_at: null },
    ]);
    expect(await db.sql`select detail from posts where id = ${postId}`).toEqual([{ detail: 'paused' }]);
    expect(await db.sql`select 1 from invitations where id = ${invited.id}`).toEqual([]);
    expect(
      await db.sql`select action, user_id from audit_log where org_id = ${ann.orgId} order by id desc limit 1`,
    ).toEqual([{ action: 'org.deleted', user_id: ann.userId }]);
    expect(
      await db.sql`select deleted_at > now() - interval '1 minute' as now from organizations where id = ${ann.orgId}`,
    ).toEqual([{ now: true }]); // kept
  });

  test('is deleted once under concurrent requests [S44]', async () => {
    const ann = await app.signUp({ company: 'Acme' });
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => ann.client.delete('/orgs/current', { confirm: 'Acme' }, { showorg: ann.orgId })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect((await ann.client.get('/user/organizations')).body).toHaveLength(1);
  });
});
