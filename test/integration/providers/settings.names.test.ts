import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { SignedUp } from '../../support/worlds/app.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';

// Names that lead into the network of this service, as they are typed into a setting.

const NAMES: Record<string, string[]> = {
  'inside.example': ['10.0.0.7'],
  'mixed.example': ['1.1.1.1', '192.168.0.1'],
  'outside.example': ['1.1.1.1'],
};
let product: Product;
let admin: SignedUp;
let ann: SignedUp;
beforeAll(async () => {
  const resolver = (name: string) => {
    const addresses = NAMES[name];
    return addresses ? Promise.resolve(addresses) : Promise.reject(new Error(`ENOTFOUND ${name}`));
  };
  product = await wholeProduct({ network: { resolver } });
  admin = await product.signUp(); // the first: a super-admin
  ann = await product.signUp();
}, 60_000);
afterAll(() => product[Symbol.asyncDispose]());

const storage = (endpoint: string) => ({
  domain: 'storage',
  providerId: 's3_compatible',
  credentials: { accessKeyId: 'rookery', secretAccessKey: 'secret-of-the-storage', bucket: 'files', endpoint },
});
const faults = ({ status, body }: { status: number; body: { code?: string; errors?: { field: string }[] } }) => [
  status,
  body.code,
  body.errors?.map(({ field }) => field),
];
const REFUSED = [400, 'blocked_url', ['credentials.endpoint']];

describe('the endpoint of an own storage', () => {
  test.each(['inside.example', 'mixed.example'])('at %s is refused when it is set', async (name) => {
    expect(faults(await ann.client.post('/providers/settings', storage(`https://${name}`)))).toEqual(REFUSED);
  });

  test('that moves into the network of this service is refused, and the setting stays as it is', async () => {
    const made = await ann.client.post('/providers/settings', storage('https://outside.example'));
    expect(made.status).toBe(201);
    const { credentials } = storage('https://inside.example');
    expect(faults(await ann.client.put(`/providers/settings/${made.body.id}`, { credentials }))).toEqual(REFUSED);
    const [{ options }] = (await ann.client.get('/providers/settings?domain=storage')).body;
    expect(options.endpoint).toBe('https://outside.example');
  });

  test('is taken where nobody knows its name yet, and where an operator sets it', async () => {
    expect((await ann.client.post('/providers/settings', storage('https://later.example'))).status).toBe(201);
    const path = '/admin/providers/settings';
    expect((await admin.client.post(path, storage('https://inside.example'))).status).toBe(201);
  });
});
