import { expect, test } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { CLIENT_TYPES_FILE, makeClientTypes } from '../../scripts/client-types.ts';
import { describePeer } from '../support/peers/peers.ts';

// The hash in the file says what it was made from; the generator says what is made from that.

const document = JSON.parse(await readFile(new URL('../../docs/openapi.gen.json', import.meta.url), 'utf8')) as object;
let made = '';
const find = async () => {
  made = await makeClientTypes(document);
  return { start: () => Promise.reject(new Error('it is no server')) };
};

await describePeer('openapi-typescript', find, () => {
  test('the types of the client are what the generator makes, byte for byte', async () => {
    expect(await readFile(CLIENT_TYPES_FILE, 'utf8')).toBe(made);
  });
});
