import { describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../platform/kernel/index.ts';
import { openTokenStore } from './held-tokens.ts';

const provider = { domain: 'ai', id: 'vertex', version: 'v1' };
const use = (orgId: string | null, key = 'k') => ({ orgId, values: { key } });
const ADDRESS = 'https://oauth2.example/token';
const held = (name: string, until = Infinity) => ({ until, token: Promise.resolve(name) });

describe('openTokenStore', () => {
  test('keeps a token for one owner, version and credentials', () => {
    const tokenStore = openTokenStore({ clock: systemClock, most: 10 });
    const token = held('t');
    tokenStore.of(provider, use('o')).set(ADDRESS, token);
    expect(tokenStore.of(provider, use('o')).get(ADDRESS)).toBe(token);
    for (const other of [
      tokenStore.of(provider, use('p')),
      tokenStore.of(provider, use(null)),
      tokenStore.of(provider, use('o', 'new key')),
      tokenStore.of({ ...provider, version: 'v2' }, use('o')),
      tokenStore.of({ ...provider, domain: 'media' }, use('o')),
    ])
      expect(other.get(ADDRESS)).toBeUndefined();
    expect(tokenStore.of(provider, use('o')).get(`${ADDRESS}/other`)).toBeUndefined();
  });

  test('drops the expired ones, beyond its bound the oldest, and those of an owner who changed the settings', () => {
    let ms = 0;
    const tokenStore = openTokenStore({ clock: { ...systemClock, monotonic: () => ms }, most: 2 });
    tokenStore.of(provider, use('o')).set(ADDRESS, held('o', 10));
    tokenStore.of(provider, use('p')).set(ADDRESS, held('p'));
    ms = 10;
    tokenStore.of(provider, use('q')).set(ADDRESS, held('q'));
    expect(tokenStore.size).toBe(2);
    tokenStore.of(provider, use('r')).set(ADDRESS, held('r'));
    expect(['o', 'p', 'q', 'r'].map((id) => tokenStore.of(provider, use(id)).get(ADDRESS)?.until)).toEqual([
      undefined,
      undefined,
      Infinity,
      Infinity,
    ]);
    tokenStore.forget({ domain: 'ai', id: 'vertex' }, 'q');
    expect([tokenStore.size, tokenStore.of(provider, use('q')).get(ADDRESS)]).toEqual([1, undefined]);
  });
});
