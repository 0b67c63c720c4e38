import { afterAll, describe, expect, test } from '@jest/globals';
import { openPostRoutes } from '../../../support/worlds/publishing/post-routes.ts';

const routes = await openPostRoutes();
const { db, app, ann, channel, schedule, read } = routes;
afterAll(routes.close);

/** A further member of Ann's organization. */
async function join(role: string): Promise<typeof ann> {
  const user = await app.signUp();
  await db.sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${user.userId}, ${role})`;
  user.client.headers['showorg'] = ann.orgId;
  return user;
}
const member = await join('member');
const admin = await join('admin');
const setting = (approvalRequired: false | 'members') => ann.client.put('/settings', { approvalRequired });

async function make(body: object): Promise<string> {
  const answer = await member.client.post('/posts', body);
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body[0].postId;
}
const decide = async (id: string, path: string, body: object = {}) =>
  expect((await admin.client.post(`/posts/${id}/${path}`, body)).status).toBe(200);
const thread = (...value: object[]) => schedule({ posts: [{ integration: { id: channel }, value }] });
const two = { content: 'two', image: [{ path: 'https://a.example/a.png', alt: 'a' }], delay: 3 };
const stored = thread({ content: 'one' }, two);

async function approved(): Promise<string> {
  const id = await make(stored);
  await decide(id, 'approve');
  return id;
}
/** Posts of a member, made while posts of members are held. */
const POSTS: Record<string, () => Promise<string>> = {
  queued: async () => {
    await setting(false);
    return make(stored);
  },
  drafted: () => make({ ...stored, type: 'draft' }),
  awaiting: () => make(stored),
  approved,
  'approved draft': async () => {
    const id = await approved();
    await member.client.put(`/posts/${id}/status`, { status: 'draft' });
    return id;
  },
  rejected: async () => {
    const id = await make(stored);
    await decide(id, 'reject', { reason: 'no' });
    return id;
  },
};
const EDITS: Record<string, (id: string) => object> = {
  'the same': (id) => thread({ content: 'one', id }, two),
  'another text': (id) => thread({ content: 'other', id }, two),
  'another delay': (id) => thread({ content: 'one', id }, { ...two, delay: 4 }),
  'no second item': (id) => thread({ content: 'one', id }),
  'other settings': (id) => {
    const value = [{ content: 'one', id }, two];
    return schedule({ posts: [{ integration: { id: channel }, value, settings: { a: 1 } }] });
  },
};

describe('POST /posts/preflight', () => {
  test('tells of the approval that an edit will need, and of no other [S121, S116]', async () => {
    const held: string[] = [];
    for (const required of ['members', false] as const)
      for (const [of, create] of Object.entries(POSTS))
        for (const type of ['update', 'schedule', 'draft'])
          for (const [to, edit] of Object.entries(EDITS)) {
            await setting('members');
            const id = await create();
            await setting(required);
            const sent = { ...edit(id), type };
            const [{ warnings, issues }] = (await member.client.post('/posts/preflight', sent)).body;
            const answer = await member.client.post('/posts', sent);
            const name = `${of}, ${type} to ${to}, held: ${required}`;
            expect([name, answer.status, issues]).toEqual([name, 201, []]);
            const isTold = warnings.some(({ code }: { code: string }) => code === 'approval_needed');
            expect([name, isTold]).toEqual([name, (await read(id)).detail === 'awaiting_approval']);
            if (isTold) held.push(name);
          }
    expect(held).toEqual(
      expect.arrayContaining([
        'approved, update to another text, held: false',
        'rejected, schedule to the same, held: false',
        'approved draft, schedule to no second item, held: members',
      ]),
    );
    expect(held).not.toContain('approved, schedule to the same, held: members');
  }, 300_000);
});
