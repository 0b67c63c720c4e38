import { expect, test } from '@jest/globals';
import { commonDomain, cookieWriter, parseCookies } from './cookies.ts';

test.each([
  ['https://app.example.com', 'https://api.example.com', 'example.com'],
  ['https://example.com', 'https://api.example.com', 'example.com'],
  ['https://a.b.example.com', 'https://c.b.example.com', 'b.example.com'],
  ['https://example.com', 'https://example.com:4000', undefined],
  ['https://example.com', 'https://example.org', undefined],
  ['https://app.example.com', 'https://api.other.com', undefined],
  ['http://localhost:4200', 'http://localhost:3000', undefined],
  ['http://localhost', 'http://127.0.0.1', undefined],
  ['http://10.0.0.1', 'http://10.0.0.2', undefined],
])('%s and %s share %s [S26]', (front, back, domain) => expect(commonDomain(front, back)).toBe(domain));

const http = { frontendUrl: 'http://localhost', backendUrl: 'http://localhost' } as Parameters<
  typeof cookieWriter
>[0]['http'];
test('the cookie flags follow the deployment [S26, S229, CS4]', () => {
  const write = (production: boolean, notSecured: boolean) =>
    cookieWriter({ production, notSecured, http })('auth', 'x');
  expect(write(true, false)).toBe('auth=x; Max-Age=2592000; Path=/; Secure; SameSite=None; HttpOnly');
  expect(write(true, true)).toBe('auth=x; Max-Age=2592000; Path=/; SameSite=Lax; HttpOnly');
  expect(write(false, false)).toBe('auth=x; Max-Age=2592000; Path=/; Secure; SameSite=Lax; HttpOnly');
  expect(cookieWriter({ production: true, notSecured: false, http })('auth', null)).toContain('Max-Age=0');
});

test('the first of two cookies with one name counts, and odd names are only names', () => {
  expect({ ...parseCookies('a=1; b = 2 ;a=3;; =x;__proto__=y;c') }).toEqual({ a: '1', b: '2', ['__proto__']: 'y' });
  expect(Object.keys(parseCookies(undefined))).toEqual([]);
  expect(({} as Record<string, unknown>)['y']).toBeUndefined();
});
