import { expect, test } from '@jest/globals';
import { createHook } from 'node:async_hooks';
import { hashPassword, isOutdated, NOBODY, verifyPassword } from './password.ts';

const CHEAP = `$argon2id$v=19$m=8,t=1,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;

test('a password verifies against its own hash only, and each hash has its own salt', async () => {
  const [one, two] = await Promise.all([hashPassword('correct horse'), hashPassword('correct horse')]);
  expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  expect(one).not.toBe(two);
  expect([
    await verifyPassword('correct horse', one),
    await verifyPassword('correct horse ', one),
    await verifyPassword('', one),
  ]).toEqual([true, false, false]);
});

test('a test vector of another implementation verifies with its own cost', async () => {
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
])('%.20s matches no password', async (phc) => {
  expect(await verifyPassword('password', phc)).toBe(false);
});

test('two passwords are hashed at a time in FIFO order', async () => {
  let [running, most] = [0, 0];
  const jobs = new Set<number>();
  const hook = createHook({
    init(id, type) {
      if (type !== 'ARGON2REQUEST') return;
      jobs.add(id);
      most = Math.max(most, (running += 1));
    },
    before(id) {
      if (jobs.delete(id)) running -= 1; // its answer is there
    },
  }).enable();
  const ended: number[] = [];
  await Promise.all(Array.from({ length: 12 }, (_, n) => hashPassword(`number ${n}`).then(() => ended.push(n))));
  hook.disable();
  expect(most).toBe(2);
  expect(ended.filter((n, at) => n - at > 1)).toEqual([]); // the second place may do several while the first is slow
});

test('the next request is rejected while two hundred wait, and places become free again', async () => {
  const told = await Promise.allSettled(Array.from({ length: 203 }, () => verifyPassword('x', CHEAP)));
  expect(told.filter(({ status }) => status === 'rejected')).toMatchObject([{ reason: { code: 'busy' } }]);
  expect(await verifyPassword('x', CHEAP)).toBe(false);
});

test('a hash at another cost is outdated', async () => {
  expect([isOutdated(await hashPassword('x')), isOutdated(CHEAP), isOutdated(NOBODY)]).toEqual([false, true, false]);
});
