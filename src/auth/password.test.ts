import { expect, test } from '@jest/globals';
import { hashPassword, NOBODY, verifyPassword } from './password.ts';

test('a password verifies against its own hash only, and each hash has its own salt', async () => {
  const [one, two] = await Promise.all([hashPassword('correct horse'), hashPassword('correct horse')]);
  expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  expect(one).not.toBe(two);
  expect([await verifyPassword('correct horse', one), await verifyPassword('correct horse ', one), await verifyPassword('', one)]).toEqual([
    true,
    false,
    false,
  ]);
});

test('the vector of another implementation verifies, with its own cost', async () => {
  // RFC 9106 has none without secret and associated data; this one was made with the reference implementation.
  const phc = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
  expect([await verifyPassword('password', phc), await verifyPassword('Password', phc)]).toEqual([true, false]);
});

test.each([
  '',
  'x',
  '$2b$10$abc',
  '$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
  '$argon2id$v=16$m=8,t=1,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAAAA',
  NOBODY,
])('%.20s matches nothing', async (phc) => {
  expect(await verifyPassword('password', phc)).toBe(false);
});
