import { createPublicKey, createVerify, generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../platform/kernel/index.ts';
import type { Http } from '../wire/http.ts';
import { keyFileFault, serviceAccountToken } from './service-account.ts';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const file = (more: object = {}): string =>
  JSON.stringify({
    type: 'service_account',
    client_email: 'posts@market-7.iam.gserviceaccount.com',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    private_key_id: 'key-1',
    token_uri: 'https://evil.example/token',
    ...more,
  });
const ADDRESS = 'https://oauth2.example/token';

describe('serviceAccountToken', () => {
  function world() {
    let ms = 0;
    const asked: { path: string; form: Record<string, string> }[] = [];
    const hidden: string[] = [];
    const http = {
      post: async (path: string, _: unknown, { form }: { form: Record<string, string> }) => {
        asked.push({ path, form });
        return { access_token: `token-${asked.length}`, expires_in: 3_600 };
      },
    } as unknown as Http;
    const now = new Date('2026-01-01T00:00:00Z');
    const clock = { ...systemClock, now: () => now, monotonic: () => ms };
    const token = serviceAccountToken(
      { http, clock, hide: (secret) => void hidden.push(secret) },
      { json: file(), address: ADDRESS, scope: 'cloud' },
    );
    return { token, asked, hidden, pass: (more: number) => void (ms += more) };
  }

  test('asks the known address, never that of the file, with a signed assertion', async () => {
    const { token, asked, hidden } = world();
    expect(await token()).toBe('token-1');
    const [{ path, form }] = asked as [(typeof asked)[0]];
    const [head, claims, signature] = form['assertion']!.split('.') as [string, string, string];
    const read = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString());
    expect([path, form['grant_type']]).toEqual([ADDRESS, 'urn:ietf:params:oauth:grant-type:jwt-bearer']);
    expect(read(head)).toEqual({ alg: 'RS256', typ: 'JWT', kid: 'key-1' });
    expect(read(claims)).toEqual({
      iss: 'posts@market-7.iam.gserviceaccount.com',
      scope: 'cloud',
      aud: ADDRESS,
      iat: 1_767_225_600,
      exp: 1_767_229_200,
    });
    const key = createPublicKey(publicKey.export({ type: 'spki', format: 'pem' }));
    expect(createVerify('RSA-SHA256').update(`${head}.${claims}`).verify(key, signature, 'base64url')).toBe(true);
    expect(hidden).toEqual([form['assertion'], 'token-1']);
  });

  test('keeps a token until it is about to expire', async () => {
    const { token, pass } = world();
    expect(await Promise.all([token(), token()])).toEqual(['token-1', 'token-1']);
    pass(3_539_000);
    expect(await token()).toBe('token-1');
    pass(2_000);
    expect(await token()).toBe('token-2');
  });
});

test.each([
  ['a file of another kind', file({ type: 'external_account' })],
  ['no key', file({ private_key: 'none' })],
  [
    'a key of another kind',
    file({ private_key: generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) }),
  ],
  ['no address', file({ client_email: 'nobody' })],
  ['no JSON', '{'],
])('keyFileFault refuses %s', (_, json) => {
  expect(keyFileFault(json)).toContain('service account');
  expect(keyFileFault(file())).toBeUndefined();
});
