import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  changeAuditLog,
  csvLine,
  type AuditActor,
  dropOldAudit,
  forgetActors,
  writeAudit,
} from '../../../src/platform/audit/index.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import { emptyAuditLog } from '../../support/worlds/audit.ts';
import { type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { type TestDatabase, testDatabase } from '../../support/wire/database.ts';

let db: TestDatabase;
let app: TestApp;
let root: SignedUp;
let ann: SignedUp;
let eve: SignedUp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql });
  root = await app.signUp(); // the first: a super-admin
  ann = await app.signUp();
  eve = await app.signUp();
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
beforeEach(() => emptyAuditLog(db.sql));

const by = (userId: string | null, impersonatorId: string | null = null): AuditActor => ({
  userId,
  impersonatorId,
  ip: '192.0.2.1',
});
const note = (
  who: AuditActor,
  orgId: string | null,
  action: string,
  more: { detail?: Record<string, string>; resourceId?: string } = {},
) => writeAudit(db.sql, who, { orgId, action, resource: 'api_keys', ...more });

/** A strict reader of RFC 4180, of its own. */
function readCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (let at = 0; at < text.length;) {
    expect(text[at]).toBe('"');
    let cell = '';
    for (at += 1; !(text[at] === '"' && text[at + 1] !== '"'); at += 1) {
      if (text[at] === '"') at += 1;
      cell += text[at];
    }
    row.push(cell);
    at += 1;
    if (text[at] === ',') at += 1;
    else {
      expect(text.slice(at, at + 2)).toBe('\r\n');
      at += 2;
      rows.push(row);
      row = [];
    }
  }
  return rows;
}

describe('GET /settings/audit', () => {
  test('shows an owner the acts in the organization, newest first, with the impersonator where there is one [S270]', async () => {
    await note(by(ann.userId), ann.orgId, 'api_key.created', { detail: { name: 'first' }, resourceId: 'key-1' });
    await note(by(ann.userId, root.userId), ann.orgId, 'api_key.revoked');
    await note(by(eve.userId), eve.orgId, 'api_key.created');
    const { status, body } = await ann.client.get('/settings/audit');
    expect(status).toBe(200);
    expect(body.nextCursor).toBeNull();
    expect(body.items).toEqual([
      {
        id: expect.any(String),
        at: expect.any(String),
        userId: ann.userId,
        impersonatorId: root.userId,
        ip: '192.0.2.1',
        action: 'api_key.revoked',
        resource: 'api_keys',
        resourceId: null,
        detail: {},
      },
      {
        id: expect.any(String),
        at: expect.any(String),
        userId: ann.userId,
        impersonatorId: null,
        ip: '192.0.2.1',
        action: 'api_key.created',
        resource: 'api_keys',
        resourceId: 'key-1',
        detail: { name: 'first' },
      },
    ]);
  });

  test('pages cover every row once, whatever is added meanwhile [S270]', async () => {
    for (let n = 0; n < 7; n += 1) await note(by(ann.userId), ann.orgId, `act.${n}`);
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const { body } = await ann.client.get(`/settings/audit?limit=3${cursor === '' ? '' : `&cursor=${cursor}`}`);
      seen.push(...body.items.map(({ action }: { action: string }) => action));
      cursor = body.nextCursor;
      await note(by(ann.userId), ann.orgId, 'act.later');
    }
    expect(seen).toEqual(['act.6', 'act.5', 'act.4', 'act.3', 'act.2', 'act.1', 'act.0']);
  });

  test('filters by actor, including acts as an impersonator, and by action [S270]', async () => {
    const bob = newId();
    await note(by(ann.userId), ann.orgId, 'api_key.created');
    await note(by(bob), ann.orgId, 'api_key.created');
    await note(by(ann.userId, bob), ann.orgId, 'api_key.revoked');
    const actions = async (query: string) =>
      (await ann.client.get(`/settings/audit?${query}`)).body.items.map(({ action }: { action: string }) => action);
    expect(await actions(`actor=${bob}`)).toEqual(['api_key.revoked', 'api_key.created']);
    expect(await actions(`actor=${bob}&action=api_key.created`)).toEqual(['api_key.created']);
    expect(await actions('action=api_key.revoked')).toEqual(['api_key.revoked']);
    expect([await actions('actor=nobody'), await actions("action=' or true --")]).toEqual([[], []]);
  });

  test.each([
    ['owner', 200],
    ['admin', 200],
    ['editor', 403],
    ['member', 403],
    ['viewer', 403],
  ])('answers a role %s with %i [S270]', async (role, status) => {
    const bob = await app.signUp();
    await db.sql`update memberships set role_key = ${role} where user_id = ${bob.userId}`;
    expect((await bob.client.get('/settings/audit')).status).toBe(status);
    expect((await bob.client.get('/settings/audit?format=csv')).status).toBe(status);
  });

  test.each(['cursor=x', 'cursor=-1', 'cursor=99999999999999999999', 'limit=0', 'limit=101', 'format=xml'])(
    'refuses the query %s by the name of its field',
    async (query) => {
      const { status, body } = await ann.client.get(`/settings/audit?${query}`);
      expect([status, body.code, body.errors[0].field]).toEqual([400, 'validation_failed', query.split('=')[0]]);
    },
  );

  test('exports the whole log as CSV, beyond one page of the database, without a formula [S270]', async () => {
    await db.sql`
      insert into audit_log (org_id, user_id, action, resource, detail)
      select ${ann.orgId}, ${ann.userId}, 'act.' || n, 'api_keys', '{}'
      from generate_series(1, 1100) n`;
    const hostile = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', 'a "quoted", cell\r\nwith lines'];
    for (const text of hostile) await note(by(ann.userId), ann.orgId, 'act', { resourceId: text });
    await note(by(eve.userId), eve.orgId, 'foreign');
    const answer = await ann.client.get('/settings/audit?format=csv');
    expect([answer.status, answer.headers.get('content-type'), answer.headers.get('content-disposition')]).toEqual([
      200,
      'text/csv; charset=utf-8; header=present',
      'attachment',
    ]);
    const [head, [own], ...rows] = readCsv(answer.text) as [string[], string[], ...string[][]];
    expect(own).toMatch(/^\d+$/); // the note of this export
    expect(head).toEqual(['id', 'at', 'userId', 'impersonatorId', 'ip', 'action', 'resource', 'resourceId', 'detail']);
    expect(rows).toHaveLength(1100 + hostile.length);
    expect(rows.slice(0, hostile.length).map((row) => row[7])).toEqual(
      hostile.toReversed().map((text) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text)),
    );
    expect(new Set(rows.map(([id]) => id)).size).toBe(rows.length);
    expect(answer.text).not.toContain('foreign');
  });
});

test('csvLine turns a formula into text', () => {
  expect(csvLine(['=cmd', 'a=b', '"', null, ''])).toBe(`"'=cmd","a=b","""","",""\r\n`);
});

describe('GET /admin/audit', () => {
  test('shows super-admins the rows of every organization and of the instance, or of one organization [S213]', async () => {
    await note(by(ann.userId), ann.orgId, 'one');
    await note(by(eve.userId), eve.orgId, 'two');
    await note(by(root.userId), null, 'three');
    const { status, body } = await root.client.get('/admin/audit');
    expect([
      status,
      body.items.map(({ action, orgId }: { action: string; orgId: string | null }) => [action, orgId]),
    ]).toEqual([
      200,
      [
        ['three', null],
        ['two', eve.orgId],
        ['one', ann.orgId],
      ],
    ]);
    expect((await root.client.get(`/admin/audit?orgId=${eve.orgId}`)).body.items).toHaveLength(1);
    expect(
      (await root.client.get('/admin/audit?format=csv')).text
        .split('\r\n')
        .filter((line) => !line.includes('"audit_log.')),
    ).toHaveLength(5);
  });
  test('answers nobody but super-admins [S210]', async () => {
    const { status, body } = await ann.client.get('/admin/audit');
    expect([status, body.code]).toEqual([403, 'super_admin_required']);
  });
});

test('no statement updates, deletes or truncates audit rows, except retention by age within an organization', async () => {
  await note(by(ann.userId), ann.orgId, 'kept');
  for (const change of [
    db.sql`delete from audit_log`,
    db.sql`delete from audit_log where org_id = ${ann.orgId}`,
    db.sql`update audit_log set detail = '{}'`,
    db.sql`truncate audit_log`,
    db.sql`truncate organizations cascade`,
    db.sql`with gone as (delete from audit_log returning 1) select count(*) from gone`,
  ])
    await expect(change).rejects.toThrow('The audit log is only added to');
  expect((await ann.client.get('/settings/audit')).body.items.map(({ action }: { action: string }) => action)).toEqual([
    'kept',
  ]);
  const gone = await app.signUp();
  await note(by(gone.userId), gone.orgId, 'gone');
  await db.sql`delete from organizations where id = ${gone.orgId}`;
  expect(await db.sql`select 1 from audit_log where action = 'gone'`).toEqual([]);
});

test('a super-admin reading the log and every export are audited [S213]', async () => {
  const told = async () =>
    (
      await db.sql<{ action: string; user: string; org: string | null }[]>`
      select action, user_id as user, org_id as org from audit_log where action like 'audit_log.%' order by id`
    ).map(({ action, user, org }) => [action, user, org]);
  await ann.client.get('/settings/audit');
  expect(await told()).toEqual([]);
  await ann.client.get('/settings/audit?format=csv');
  await root.client.get('/admin/audit');
  await root.client.get(`/admin/audit?orgId=${eve.orgId}&format=csv`);
  expect(await told()).toEqual([
    ['audit_log.exported', ann.userId, ann.orgId],
    ['audit_log.read', root.userId, null],
    ['audit_log.exported', root.userId, eve.orgId],
  ]);
});

test('audit rows are kept for their retention period and then deleted in batches [S270]', async () => {
  for (let n = 0; n < 5; n += 1) await note(by(ann.userId), ann.orgId, `old.${n}`);
  await changeAuditLog(db.sql, (tx) => tx`update audit_log set at = now() - interval '366 days'`);
  await note(by(ann.userId), ann.orgId, 'young');
  expect([
    await dropOldAudit(db.sql, 365, 3),
    await dropOldAudit(db.sql, 365, 3),
    await dropOldAudit(db.sql, 365, 3),
  ]).toEqual([3, 2, 0]);
  expect((await ann.client.get('/settings/audit')).body.items.map(({ action }: { action: string }) => action)).toEqual([
    'young',
  ]);
});

test('whoever is erased leaves every row that names them, wherever it does, and no other row is read', async () => {
  const [bob, other] = [newId(), by(ann.userId)];
  await note(by(bob), ann.orgId, 'did');
  await note(by(ann.userId, bob), ann.orgId, 'did as another');
  await note(other, ann.orgId, 'was done to', { resourceId: bob });
  await note(other, ann.orgId, 'named', { detail: { userId: bob } });
  await note(other, null, 'named in a text', { detail: { reason: `as ${bob},${ann.userId} asked` } });
  await db.sql`
    insert into audit_log (org_id, action, resource, detail)
    values (${ann.orgId}, 'named in a list', 'members', ${db.sql.json({ to: [{ ids: [ann.userId, bob] }] })})`;
  await db.sql`
    insert into audit_log (org_id, user_id, action, resource, resource_id, detail)
    select ${eve.orgId}, gen_random_uuid(), 'other', 'api_keys', gen_random_uuid(),
      jsonb_build_object('userId', gen_random_uuid())
    from generate_series(1, 5000)`;
  await db.sql`analyze audit_log`;
  const naming = async (id: string) => {
    const rows = await db.sql`select from audit_log a where position(${id} in a::text) > 0`;
    return rows.length;
  };
  const others = await naming(ann.userId);
  expect(await naming(bob)).toBe(6);
  db.statements.length = 0;
  expect(await changeAuditLog(db.sql, (tx) => forgetActors(tx, [bob, newId()]))).toBe(6);
  expect([await naming(bob), await naming(ann.userId)]).toEqual([0, others]);
  const asked = db.statements
    .find((text) => text.includes('update audit_log'))!
    .replace(/\$\d+(?=::\w+\[\])/g, `'{${bob}}'`)
    .replace(/\$\d+/g, `'${bob}'`);
  const plan = (await db.sql.unsafe<{ 'QUERY PLAN': string }[]>(`explain ${asked}`))
    .map((line) => line['QUERY PLAN'])
    .join('\n');
  expect(plan).toContain('Bitmap Index Scan on audit_log_by_id');
  expect(plan).not.toContain('Seq Scan');
});

describe('GET /admin/emails', () => {
  test('shows the mail log to super-admins, newest first and by status, without the contents of the mails [S213]', async () => {
    const ids = [newId(), newId(), newId()].toSorted();
    for (const [n, id] of ids.entries())
      await db.sql`
        insert into emails (id, to_address, template, content, status, provider_id, provider_version, next_attempt_at)
        values (${id}, ${`a${n}@example.com`}, 'activation', ${n === 0 ? 'v2:x' : null}, ${n === 0 ? 'queued' : 'sent'},
          'smtp', 'v1', ${n === 0 ? new Date() : null})`;
    const idsOf = async (query: string) =>
      (await root.client.get(`/admin/emails${query}`)).body.items.map(({ id }: { id: string }) => id);
    expect(await idsOf('')).toEqual(ids.toReversed());
    expect([await idsOf('?status=queued'), await idsOf('?status=sent'), await idsOf('?status=bounced')]).toEqual([
      [ids[0]],
      [ids[2], ids[1]],
      [],
    ]);
    const first = await root.client.get('/admin/emails?limit=2');
    expect(await idsOf(`?limit=2&cursor=${first.body.nextCursor}`)).toEqual([ids[0]]);
    expect(first.body.items[0]).toEqual({
      id: ids[2],
      orgId: null,
      to: 'a2@example.com',
      template: 'activation',
      status: 'sent',
      providerId: 'smtp',
      providerVersion: 'v1',
      providerMessageId: null,
      attempts: 0,
      nextAttemptAt: null,
      lastError: null,
      createdAt: expect.any(String),
      sentAt: null,
    });
    expect((await root.client.get('/admin/emails?status=lost')).status).toBe(400);
    expect((await ann.client.get('/admin/emails')).status).toBe(403);
  });
});
