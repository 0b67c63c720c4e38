import { expect, test } from '@jest/globals';
import { buffer } from 'node:stream/consumers';
import { fc } from '../../../../test/support/properties.ts';
import { asDataUrl, inBase64, jsonBody } from './json-body.ts';

const file = (bytes: Buffer, step: number) => ({
  contentType: 'image/png',
  size: bytes.length,
  async *open() {
    for (let at = 0; at < bytes.length; at += step) yield bytes.subarray(at, at + step);
  },
});

test('jsonBody yields JSON of the declared length with files as base64, each time it is opened', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 70 }),
      fc.integer({ min: 1, max: 9 }),
      fc.string(),
      async (all, step, text) => {
        const bytes = Buffer.from(all);
        const body = jsonBody({
          text,
          none: undefined,
          image: { url: asDataUrl(file(bytes, step)) },
          all: [inBase64(file(bytes, step))],
        });
        for (const sent of [await buffer(body.open()), await buffer(body.open())]) {
          expect(sent.length).toBe(body.size);
          const base64 = bytes.toString('base64');
          expect(JSON.parse(sent.toString())).toEqual({
            text,
            image: { url: `data:image/png;base64,${base64}` },
            all: [base64],
          });
        }
      },
    ),
    { numRuns: 100 },
  );
});
