import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Field } from '../../../src/providers/kit/declare/fields.ts';
import { isAddressField } from '../../../src/providers/kit/declare/fields.ts';
import { adapters } from '../../../src/providers/registry/registry.gen.ts';
import type { AnyAdapter } from '../../../src/providers/registry/domains.ts';
import { emptyAuditLog } from '../../support/worlds/audit.ts';
import type { SignedUp } from '../../support/worlds/app.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';

// Generated from the declarations: each adapter that keeps a secret beside an address.

let product: Product;
let admin: SignedUp;
let ann: SignedUp;
beforeAll(async () => {
  product = await wholeProduct({ sandbox: false, env: { LINKEDIN_SSO_ENABLED: 'true' } });
  admin = await product.signUp(); // the first: a super-admin
  ann = await product.signUp();
}, 60_000);
afterAll(() => product[Symbol.asyncDispose]());

const SECRET = 'a-secret-0123456789-WXYZ';
const secretFor = (adapter: AnyAdapter, name: string) =>
  name === 'accountNumber' ? '1234567890123456' : adapter.id === 'medialocker' ? 'abcd'.repeat(16) : SECRET;
/** Values that the declared expressions take, by the name of the field. */
const PLAIN: Record<string, string> = {
  port: '1080',
  fromAddress: 'post@one.example',
  region: 'eu-1',
  bucket: 'a-bucket',
  bucketId: '0192d1f0-0000-7000-8000-000000000001',
};
const address = (name: string, { form }: Field, host: string): string =>
  form
    ? `https://${host}`
    : name === 'port'
      ? host === 'one.example'
        ? '1080'
        : '1081'
      : name === 'sidecar'
        ? `${host}:1080`
        : host;
const fieldsOf = (adapter: AnyAdapter) => Object.entries(adapter.setup?.fields ?? {});
const secretsOf = (adapter: AnyAdapter) => fieldsOf(adapter).filter(([, { secret, fault }]) => secret && !fault);

function valuesFor(adapter: AnyAdapter, host: string): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [name, field] of fieldsOf(adapter)) {
    if (isAddressField(field)) values[name] = address(name, field, host);
    else if (field.secret && !field.fault) values[name] = secretFor(adapter, name);
    else if (field.required && !field.options) values[name] = PLAIN[name] ?? 'something';
  }
  return values;
}
const places = (adapter: AnyAdapter) => {
  const forAll = adapter.setup!.owners.includes('instance');
  return {
    client: forAll ? admin.client : ann.client,
    path: forAll ? '/admin/providers/settings' : '/providers/settings',
    orgId: forAll ? null : ann.orgId,
  };
};
async function create(adapter: AnyAdapter): Promise<string> {
  const { client, path } = places(adapter);
  const { status, body } = await client.post(path, {
    domain: adapter.domain,
    providerId: adapter.id,
    allowPreview: true,
    credentials: valuesFor(adapter, 'one.example'),
  });
  expect([status, body.message]).toEqual([201, undefined]);
  return body.id;
}
const isSet = (body: { credentials: Record<string, { set: boolean }> }, adapter: AnyAdapter) =>
  Object.fromEntries(secretsOf(adapter).map(([name]) => [name, body.credentials[name]!.set]));
const all = (adapter: AnyAdapter, set: boolean) => Object.fromEntries(secretsOf(adapter).map(([name]) => [name, set]));

/** The faults of a setting that has lost its secrets. */
function missingWithoutSecrets(adapter: AnyAdapter): string[] {
  const secrets = secretsOf(adapter);
  const required = secrets.flatMap(([name, field]) => (field.required ? [`credentials.${name} required`] : []));
  const groups = adapter.setup!.oneOf ?? [];
  const isEveryGroupBroken =
    groups.length > 0 && groups.every((group) => secrets.some(([name]) => group.includes(name)));
  return required.length === 0 && isEveryGroupBroken ? [`credentials.${groups[0]![0]!} required`] : required;
}

const kept = adapters.filter((adapter) => (adapter.setup?.owners.length ?? 0) > 0 && secretsOf(adapter).length > 0);
const cases = kept.flatMap((adapter) =>
  fieldsOf(adapter)
    .filter(([, field]) => isAddressField(field))
    .map(([name, field]): [string, string, AnyAdapter, Field] => [
      `${adapter.domain}/${adapter.id}`,
      name,
      adapter,
      field,
    ]),
);

test('places that calls go to are declared as addresses, and each kind is among the cases', () => {
  const named = /^(host|port|server|endpoint|baseurl|api|issuer|.*url|sidecar|service)$/i;
  const suspects = kept.flatMap((adapter) =>
    fieldsOf(adapter).flatMap(([name, field]) =>
      (named.test(name) || field.form) && !field.secret && !field.options && !isAddressField(field)
        ? [`${adapter.domain}/${adapter.id} ${name}`]
        : [],
    ),
  );
  // people are sent there, and a provider of models is told the site that asks: no call of ours
  expect(new Set(suspects.map((one) => one.split(' ')[1]))).toEqual(new Set(['publicUrl', 'siteUrl']));
  for (const adapter of kept)
    for (const [, name] of ('api' in adapter ? adapter.api : '').matchAll(/^(?:[a-z]+:\/\/)?\{(\w+)\}(?=[/:]|$)/g)) {
      // an address of a channel is among the fields that a person connects it with
      const field = adapter.setup!.fields[name!] ?? (adapter.credentials as Record<string, Field>)[name!]!;
      expect([adapter.id, name, Boolean(field.options) || isAddressField(field)]).toEqual([adapter.id, name, true]);
    }
  expect(new Set(cases.map(([which]) => which.split('/')[0]))).toEqual(
    new Set(['ai', 'auth', 'email', 'media', 'shortlink', 'social', 'storage', 'vpn']),
  );
});

describe('a changed address', () => {
  test.each(cases)(
    'of %s in %s drops the secrets beside it unless they are given again [S157, S163]',
    async (_, name, adapter, field) => {
      const { client, path } = places(adapter);
      const id = await create(adapter);
      const moved = { options: { [name]: address(name, field, 'two.example') }, allowPreview: true };
      const same = await client.put(`${path}/${id}`, {
        options: { [name]: address(name, field, 'one.example') },
        name: 'Still there',
        allowPreview: true,
      });
      expect([same.status, isSet(same.body, adapter)]).toEqual([200, all(adapter, true)]);

      const required = missingWithoutSecrets(adapter);
      const { status, body } = await client.put(`${path}/${id}`, moved);
      if (required.length > 0) {
        expect([
          status,
          body.errors.map((error: { field: string; rule: string }) => `${error.field} ${error.rule}`),
        ]).toEqual([400, required]);
        const [row] = await product.db.sql`select options from provider_settings where id = ${id}`;
        expect(row!['options'][name]).toBe(valuesFor(adapter, 'one.example')[name]); // nothing has changed
      } else expect([status, isSet(body, adapter)]).toEqual([200, all(adapter, false)]);

      const again = {
        credentials: Object.fromEntries(secretsOf(adapter).map(([secret]) => [secret, secretFor(adapter, secret)])),
      };
      const given = await client.put(`${path}/${id}`, {
        options: { [name]: address(name, field, 'three.example') },
        allowPreview: true,
        ...again,
      });
      if (name !== 'port') expect([given.status, isSet(given.body, adapter)]).toEqual([200, all(adapter, true)]);
      await client.delete(`${path}/${id}`);
    },
  );

  test('is noted with the hosts of before and now, never with a secret', async () => {
    const smtp = adapters.find(({ domain, id }) => domain === 'email' && id === 'smtp')!;
    const { client, path } = places(smtp);
    const id = await create(smtp);
    await emptyAuditLog(product.db.sql);
    await client.put(`${path}/${id}`, { options: { host: 'two.example' }, credentials: { password: SECRET } });
    const notes = await product.db.sql`select detail from audit_log where action = 'provider_setting.updated'`;
    expect(notes.map(({ detail }) => detail.addresses)).toEqual([['host: one.example → two.example']]);
    expect(JSON.stringify(notes)).not.toContain(SECRET);
  });
});

test.each(
  [...new Set(cases.map(([, , adapter]) => adapter))].map((adapter): [string, AnyAdapter] => [
    `${adapter.domain}/${adapter.id}`,
    adapter,
  ]),
)('%s shows the end of keys only, and nothing of passwords, names and account numbers [S156]', async (_, adapter) => {
  const { client, path } = places(adapter);
  const id = await create(adapter);
  const { credentials } = (await client.get(path)).body.find((one: { id: string }) => one.id === id);
  for (const [name] of secretsOf(adapter))
    expect([name, credentials[name].hint]).toEqual([
      name,
      /password|username|accountNumber|wireguard/i.test(name) ? null : `…${secretFor(adapter, name).slice(-4)}`,
    ]);
  await client.delete(`${path}/${id}`);
});
