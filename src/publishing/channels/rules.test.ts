import { describe, expect, test } from '@jest/globals';
import { encryptionKey, openVault } from '../../platform/kernel/index.ts';
import { type Credentials, openCredentials, sealCredentials } from './credentials.ts';
import { checkReturnUrl, daysLeft, isExpired, isExpiring, loginExpiry, readAdditional, typedFields } from './rules.ts';

const at = (minutes: number) => new Date(Date.UTC(2026, 0, 1, 0, minutes));
/** A login given at minute 0 whose token lasts so many minutes. */
const login = (minutes: number | undefined, refreshToken?: string): Credentials => ({
  account: '1',
  values: {},
  grantedAt: at(0),
  tokens: {
    accessToken: 'a',
    ...(minutes !== undefined && { expiresAt: at(minutes) }),
    ...(refreshToken !== undefined && { refreshToken }),
  },
});

describe('a token', () => {
  test.each([
    [60, 54, false],
    [60, 55, true],
    [60, 61, true],
    [8, 5, false],
    [8, 6, true],
    [undefined, 1e6, false],
  ])('that lasts %p minutes is to be renewed at minute %p: %p', (life, now, expected) =>
    expect(isExpiring(login(life), 'apart', at(now))).toBe(expected),
  );

  const DAY = 24 * 60;
  test.each([
    [60 * DAY, 29 * DAY, false],
    [60 * DAY, 30 * DAY, true],
    [2, 1, false], // a day old at least
    [60 * DAY, 61 * DAY, true],
  ])('that renews itself and lasts %p minutes is to be renewed at minute %p: %p', (life, now, expected) =>
    expect(isExpiring(login(life), 'itself', at(now))).toBe(expected),
  );

  test('that does not exist does not expire', () => {
    const none = { ...login(1), tokens: undefined };
    expect([isExpiring(none, 'none', at(9)), isExpired(none, at(9)), loginExpiry(none, 'none')]).toEqual([
      false,
      false,
      null,
    ]);
  });

  test('that no call takes neither needs to be renewed nor ends', () =>
    expect([isExpiring(login(1), 'needless', at(9)), loginExpiry(login(1), 'needless')]).toEqual([false, null]));

  test('needs a person at its end only when nothing else can renew it [S127]', () => {
    const ends = { ...login(60, 'r').tokens!, refreshExpiresAt: at(900) };
    expect([
      loginExpiry(login(60), 'none'),
      loginExpiry(login(60), 'itself'),
      loginExpiry(login(60, 'r'), 'apart'),
      loginExpiry({ ...login(60), tokens: ends }, 'apart'),
    ]).toEqual([at(60), at(60), null, at(900)]);
    expect([daysLeft(at(60 * 24 * 3 + 1), at(0)), daysLeft(at(0), at(5)), daysLeft(null, at(0))]).toEqual([3, 0, null]);
  });

  test('comes back from its sealed form as it was [SC1, SC2]', () => {
    const vault = openVault(encryptionKey('k'));
    const whole: Credentials = {
      ...login(60, 'r'),
      app: { clientId: 'i', clientSecret: 's', botToken: 'b' },
      values: { instance: 'https://a.example' },
      tokens: {
        ...login(60, 'r').tokens!,
        tokenSecret: 't',
        refreshExpiresAt: at(900),
        values: { service: 'https://b.example' },
      },
    };
    const sealed = sealCredentials(vault, whole);
    expect(sealed.startsWith('v2:')).toBe(true);
    expect(openCredentials(vault, sealed)).toEqual(whole);
    expect(openCredentials(vault, sealCredentials(vault, { account: '1', values: {}, grantedAt: at(0) }))).toEqual({
      account: '1',
      values: {},
      grantedAt: at(0),
    });
  });
});

test('typed fields come as an object or as base64 of one [S132]', () => {
  const code = Buffer.from('{"name":"é"}').toString('base64');
  expect(typedFields({ code })).toEqual({ name: 'é' });
  expect(typedFields({ code, fields: { name: 'b' } })).toEqual({ name: 'b' });
  for (const bad of ['', 'x', Buffer.from('[]').toString('base64'), Buffer.from('null').toString('base64')])
    expect(() => typedFields({ code: bad })).toThrow('base64');
  expect(() => typedFields({})).toThrow('fields');
});

test('a return address must have an origin of the list [S134]', () => {
  const list = ['https://a.example', 'https://b.example:8443/path'];
  for (const good of ['https://a.example', 'https://a.example/x?y#z', 'HTTPS://A.EXAMPLE/', 'https://b.example:8443/'])
    expect(() => checkReturnUrl(list, good)).not.toThrow();
  for (const bad of [
    'http://a.example',
    'https://a.example:444',
    'https://a.example.evil.test',
    'https://evil.test/https://a.example',
    'https://b.example',
    '',
    'null',
    'blob:https://a.example/x',
  ])
    expect(() => checkReturnUrl(list, bad)).toThrow('returnUrl');
  expect(() => checkReturnUrl([], 'https://a.example')).toThrow('returnUrl');
});

test('additional settings are an object or a list of names and values [S140]', () => {
  expect(readAdditional('{"a":1}')).toEqual({ a: 1 });
  expect(readAdditional('[{"name":"a","value":1},{"title":"b","value":"c"},{"value":2}]')).toEqual({ a: 1, b: 'c' });
  expect(readAdditional('[]')).toEqual({});
  for (const bad of ['', '{', '1', '"x"', '[1]', 'null'])
    expect(() => readAdditional(bad)).toThrow('additionalSettings');
});
