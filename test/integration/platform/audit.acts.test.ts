import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { emptyAuditLog } from '../../support/worlds/audit.ts';
import type { Client, SignedUp } from '../../support/worlds/app.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';

// Acts that come to their rows by actors: the note stands in the commit of the act there, under who asked here.

let product: Product;
let root: SignedUp;
let ann: SignedUp;
let key: Client;
beforeAll(async () => {
  product = await wholeProduct({ sandbox: true });
  root = await product.signUp(); // the first: a super-admin
  ann = await product.signUp();
  key = await ann.withKey();
});
afterAll(async () => product[Symbol.asyncDispose]());
beforeEach(async () => void (await emptyAuditLog(product.db.sql)));

interface Note {
  action: string;
  userId: string;
  impersonatorId: string | null;
  ip: string;
  resource: string;
  resourceId: string;
  detail: object;
}
const notes = async (): Promise<Note[]> => (await ann.client.get('/settings/audit')).body.items.toReversed();
const told = async () => (await notes()).map(({ action, resourceId, detail }) => [action, resourceId, detail]);
const connect = (client = ann.client) =>
  client.post('/integrations/social-connect/sandbox', { fields: { name: 'heron' }, allowPreview: true });

test('connecting, reconnecting, disabling, enabling and deleting a channel each write one audit row with its actor [S270]', async () => {
  const { id } = (await connect()).body;
  await connect();
  for (const act of ['disable', 'disable', 'enable', 'enable'])
    expect((await ann.client.post(`/integrations/${act}`, { id })).status).toBe(200);
  expect((await ann.client.delete(`/integrations/${id}`)).status).toBe(200);
  expect((await ann.client.delete(`/integrations/${id}`)).status).toBe(404);
  const login = { provider: 'sandbox', name: 'heron' };
  expect(await told()).toEqual([
    ['channel.connected', id, { ...login, again: false }],
    ['channel.connected', id, { ...login, again: true }],
    ['channel.disabled', id, {}],
    ['channel.enabled', id, {}],
    ['channel.deleted', id, {}],
  ]);
  for (const { userId, impersonatorId, ip, resource } of await notes())
    expect([userId, impersonatorId, ip, resource]).toEqual([ann.userId, null, '127.0.0.1', 'channels']);
});

test('creating, updating and deleting a webhook and rotating its secret write audit rows with the host alone and never the secret [S270, X19]', async () => {
  const body = { name: 'Hook', url: 'https://hooks.example/t/a-key-of-the-receiver', integrations: [] };
  const { id, secret } = (await key.post('/public/v1/webhooks', { ...body, secret: true })).body;
  expect(secret).toMatch(/^whsec_/);
  expect((await ann.client.put('/webhooks', { id, ...body, name: 'Other' })).status).toBe(200);
  expect((await ann.client.put('/webhooks', { id, ...body, rotateSecret: true })).status).toBe(200);
  expect((await ann.client.delete(`/webhooks/${id}`)).status).toBe(200);
  expect((await ann.client.delete(`/webhooks/${id}`)).status).toBe(404);
  const host = 'hooks.example';
  expect(await told()).toEqual([
    ['webhook.created', id, { name: 'Hook', host }],
    ['webhook.updated', id, { name: 'Other', host, secretRotated: false }],
    ['webhook.updated', id, { name: 'Hook', host, secretRotated: true }],
    ['webhook.deleted', id, {}],
  ]);
  const shown = JSON.stringify(await notes());
  for (const hidden of ['a-key-of-the-receiver', 'whsec_', 'v2:']) expect(shown).not.toContain(hidden);
});

test('acts of an impersonated user name the impersonator, also in rows that actors write [S212]', async () => {
  await root.client.post('/admin/impersonate', { userId: ann.userId, reason: 'She asked for help' });
  const { id } = (await connect(root.client)).body;
  await root.client.post('/integrations/disable', { id });
  await root.client.delete('/admin/impersonate');
  const acts = (await notes()).filter(({ action }) => action.startsWith('channel.'));
  expect(acts.map(({ action, userId, impersonatorId }) => [action, userId, impersonatorId])).toEqual([
    ['channel.connected', ann.userId, root.userId],
    ['channel.disabled', ann.userId, root.userId],
  ]);
});
