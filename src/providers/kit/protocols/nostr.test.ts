import { expect, test } from '@jest/globals';
import { decodeNpub, encodeNevent, encodeNpub, publicKeyOf, readPrivateKey, signEvent } from './nostr.ts';

// the examples of NIP-19
const NSEC = 'nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5';
const SECRET = '67dea2ed018072d675f5415ecfaed7d2597555e202d85b3d65ea4e58d2d92ffa';
const NPUB = 'npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg';
const PUBLIC = '7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e';

test('readPrivateKey accepts hexadecimal and nsec keys only', () => {
  expect(Buffer.from(readPrivateKey(NSEC)!).toString('hex')).toBe(SECRET);
  expect(Buffer.from(readPrivateKey(` ${SECRET.toUpperCase()} `)!).toString('hex')).toBe(SECRET);
  for (const wrong of ['', 'nsec1', NSEC.slice(0, -1) + 'q', NPUB, SECRET.slice(1), '0'.repeat(64), 'f'.repeat(64)])
    expect(readPrivateKey(wrong)).toBeUndefined();
  expect([encodeNpub(PUBLIC), decodeNpub(NPUB), decodeNpub(NSEC)]).toEqual([NPUB, PUBLIC, undefined]);
});

test('signEvent yields the same id for the same draft', () => {
  const key = readPrivateKey(SECRET)!;
  const draft = { created_at: 1_700_000_000, kind: 1, tags: [['t', 'a']], content: 'Grüße "x"\n' };
  const [one, two] = [signEvent(draft, key), signEvent(draft, key)];
  expect(one.id).toBe(two.id);
  expect(one.pubkey).toBe(publicKeyOf(key));
  expect(signEvent({ ...draft, content: 'other' }, key).id).not.toBe(one.id);
});

test('encodeNevent holds the id and the relays', () => {
  expect(encodeNevent(PUBLIC, ['wss://relay.example'])).toMatch(/^nevent1[02-9ac-hj-np-z]+$/);
  expect(encodeNevent(PUBLIC, ['wss://relay.example']).length).toBeGreaterThan(encodeNevent(PUBLIC, []).length);
});
