import { expect, test } from '@jest/globals';
import { eventually } from '../../support/wire/eventually.ts';
import { Client } from '../../support/worlds/app.ts';
import { wholeProduct } from '../../support/worlds/product.ts';

test('a post that goes live is told to the member who made it, and a channel that is disabled to those who keep it [NO12, NO14]', async () => {
  await using product = await wholeProduct({ sandbox: true });
  const owner = await product.signUp();
  const editor = await product.signUp();
  await product.db.sql`
    insert into memberships (org_id, user_id, role_key)
    values (${owner.orgId}, ${editor.userId}, 'editor')`;
  const { body: channel } = await owner.client.post('/integrations/social-connect/sandbox', {
    fields: { name: 'acme' },
    allowPreview: true,
  });
  const own = Object.assign(new Client(product.address), {
    cookies: editor.client.cookies,
    headers: { showorg: owner.orgId },
  });
  const { body: key } = await own.post('/user/api-keys', { name: 'test' });
  const program = Object.assign(new Client(product.address), { headers: { authorization: key.plaintext } });
  const created = await program.post('/public/v1/posts', {
    type: 'now',
    date: new Date().toISOString(),
    shortLink: false,
    tags: [],
    posts: [{ integration: { id: channel.id }, value: [{ content: '<p>Hello</p>', image: [] }], settings: {} }],
  });
  expect(created.status).toBe(201);
  const [{ postId }] = created.body;

  const told = async (client: Client) =>
    (await client.get('/notifications/list')).body.notifications.map(
      ({ category, data }: { category: string; data: object }) => ({ category, data }),
    );
  const data = { postId, integrationId: channel.id };
  await eventually('its maker is told', async () => (await told(own)).length === 1);
  expect(await told(own)).toEqual([{ category: 'post_published', data }]);
  expect(await told(owner.client)).toEqual([]);

  await owner.client.post('/integrations/disable', { id: channel.id });
  await eventually('the owner is told', async () => (await told(owner.client)).length === 1);
  expect(await told(owner.client)).toEqual([{ category: 'channel_issues', data: { integrationId: channel.id } }]);
  expect(await told(own)).toHaveLength(2);
});
