import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { type SignedUp, testApp } from '../../support/worlds/app.ts';
import { subscribe, WITH_BILLING } from '../../support/worlds/billing.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';

let db: TestDatabase;
let app: Awaited<ReturnType<typeof testApp>>;
let ann: SignedUp;
let eve: SignedUp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql, env: WITH_BILLING });
  ann = await app.signUp();
  eve = await app.signUp();
});
afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await db.sql`delete from brand_kits`;
  await subscribe(db.sql, ann.orgId, { tier: 'AGENCY' });
});

async function file({ orgId, more = {} }: { orgId: string; more?: object }): Promise<string> {
  const row = {
    id: newId(),
    org_id: orgId,
    name: 'a.png',
    original_name: 'a.png',
    storage_key: newId(),
    kind: 'image',
    mime: 'image/png',
    bytes: 1,
    ...more,
  };
  await db.sql`insert into files ${db.sql(row)}`;
  return row.id;
}
const kits = async () =>
  (await ann.client.get('/brand-kits?limit=100')).body.items as { id: string; isDefault: boolean }[];

describe('brand kits', () => {
  test('are created, read, listed, changed and deleted [S190]', async () => {
    const logos = [await file(ann), await file(ann)];
    const body = {
      name: ' Acme ',
      colors: ['#612AD5', '#fff'],
      fonts: [{ role: 'headings', family: 'Inter' }],
      logos,
      voice: 'Calm',
      tone: 'Warm',
      audience: 'Bakers',
      hashtags: ['#bread'],
      doList: ['Say please'],
      dontList: ['Shout'],
      isDefault: true,
    };
    const { status, body: acme } = await ann.client.post('/brand-kits', body);
    expect([status, acme]).toEqual([201, { ...body, id: expect.any(String), name: 'Acme' }]);
    const plain = (await ann.client.post('/brand-kits', { name: 'Plain' })).body;
    expect(plain).toEqual({
      id: expect.any(String),
      name: 'Plain',
      colors: [],
      fonts: [],
      logos: [],
      voice: null,
      tone: null,
      audience: null,
      hashtags: [],
      doList: [],
      dontList: [],
      isDefault: false,
    });
    const first = (await ann.client.get('/brand-kits?limit=1')).body;
    expect(first).toEqual({ items: [plain], nextCursor: plain.id });
    expect((await ann.client.get(`/brand-kits?limit=1&cursor=${plain.id}`)).body).toEqual({
      items: [acme],
      nextCursor: null,
    });
    const change = { name: 'Acme 2', voice: null, colors: [], logos: [logos[1]] };
    expect((await ann.client.put(`/brand-kits/${acme.id}`, change)).body).toEqual({ ...acme, ...change });
    expect((await ann.client.send('PATCH', `/brand-kits/${acme.id}`, { tone: 'Dry' })).body).toEqual({
      ...acme,
      ...change,
      tone: 'Dry',
    });
    expect((await eve.client.get('/brand-kits')).body.items).toEqual([]);
    expect((await ann.client.delete(`/brand-kits/${acme.id}`)).body).toEqual({ id: acme.id });
    expect((await ann.client.get(`/brand-kits/${acme.id}`)).status).toBe(404);
  });

  test.each([
    ['name', { name: '' }],
    ['colors.0', { colors: ['red'] }],
    ['fonts.0.family', { fonts: [{ role: 'x' }] }],
    ['fonts.0.url', { fonts: [{ role: 'x', family: 'y', url: 'https://x.example' }] }],
    ['voice', { voice: 'x'.repeat(5_001) }],
    ['hashtags.0', { hashtags: [''] }],
    ['doList', { doList: Array.from({ length: 101 }, () => 'x') }],
    ['isDefault', { isDefault: 'yes' }],
    ['font', { font: 'x' }],
  ])('name the field %s that is wrong [S190, S6]', async (field, body) => {
    const { status, body: refusal } = await ann.client.post('/brand-kits', { name: 'Acme', ...body });
    expect([status, refusal.errors[0].field]).toEqual([400, field]);
  });

  test('have logos that are pictures of the organization, and lose those that are deleted there [S190, S9]', async () => {
    const logo = await file(ann);
    for (const other of [
      newId(),
      'x',
      await file(eve),
      await file({ orgId: ann.orgId, more: { kind: 'video' } }),
      await file({ orgId: ann.orgId, more: { deleted_at: new Date() } }),
      await file({ orgId: ann.orgId, more: { listed: false } }),
    ]) {
      const { status, body } = await ann.client.post('/brand-kits', { name: 'Acme', logos: [logo, other] });
      expect([status, body.errors?.map(({ field }: { field: string }) => field)]).toEqual([400, ['logos.1']]);
    }
    const { id } = (await ann.client.post('/brand-kits', { name: 'Acme', logos: [logo] })).body;
    expect((await ann.client.put(`/brand-kits/${id}`, { logos: [await file(eve)] })).status).toBe(400);
    await db.sql`update files set deleted_at = now() where id = ${logo}`;
    expect((await ann.client.get(`/brand-kits/${id}`)).body.logos).toEqual([]);
  });

  test('one at most is the default, also of many at once [S190]', async () => {
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, n) => ann.client.post('/brand-kits', { name: `Kit ${n}`, isDefault: true })),
    );
    expect(made.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 201));
    expect((await kits()).filter(({ isDefault }) => isDefault)).toHaveLength(1);
    const other = (await kits()).find(({ isDefault }) => !isDefault)!;
    await Promise.all([
      ...made.map(({ body }) => ann.client.send('PATCH', `/brand-kits/${body.id}`, { isDefault: true })),
      ann.client.send('PATCH', `/brand-kits/${other.id}`, { name: 'Renamed' }),
    ]);
    const [last] = (await kits()).filter(({ isDefault }) => isDefault);
    expect((await kits()).filter(({ isDefault }) => isDefault)).toEqual([last]);
    await ann.client.send('PATCH', `/brand-kits/${last!.id}`, { isDefault: false });
    expect((await kits()).filter(({ isDefault }) => isDefault)).toEqual([]);
  });
});

describe('the limit of brand kits', () => {
  const create = () => ann.client.post('/brand-kits', { name: 'Kit' });
  const flood = async (): Promise<Record<number, number>> => {
    const answers = await Promise.all(Array.from({ length: 100 }, create));
    const refused = answers.filter(({ status }) => status !== 201);
    for (const { body } of refused) expect(body).toMatchObject({ code: 'limit_exceeded', limit: 'brand_kits' });
    return { 201: answers.length - refused.length, 402: refused.filter(({ status }) => status === 402).length };
  };

  test('is exact under 100 creates at once, counts rows and is never reset [LM15, S190, S5]', async () => {
    await subscribe(db.sql, ann.orgId, { tier: 'TEAM' });
    expect(await flood()).toEqual({ 201: 10, 402: 90 });
    expect(await create()).toMatchObject({
      status: 402,
      body: { message: 'Plan limit reached: brand_kits (10)', max: 10, url: expect.stringMatching(/\/billing$/) },
    });
    await db.sql`update brand_kits set created_at = now() - interval '400 days'`;
    expect((await create()).status).toBe(402);
    expect((await ann.client.get('/billing')).body.limits.brand_kits).toMatchObject({ effective: 10, used: 10 });
    await ann.client.delete(`/brand-kits/${(await kits())[0]!.id}`);
    expect([(await create()).status, (await create()).status]).toEqual([201, 402]);
  });

  test('is raised by packs, exactly [AD6, LM15]', async () => {
    await subscribe(db.sql, ann.orgId, { tier: 'PRO', packs: { extra_brand_kits: 2 } });
    expect(await flood()).toEqual({ 201: 12, 402: 88 });
  });

  test('of a plan without brand kits is 0 [LM15, LM1]', async () => {
    await subscribe(db.sql, ann.orgId, { tier: 'STARTER' });
    expect((await create()).body).toMatchObject({ code: 'limit_exceeded', max: 0 });
  });
});
