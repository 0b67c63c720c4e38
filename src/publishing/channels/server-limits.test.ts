import { expect, test } from '@jest/globals';
import { boundedLimits } from './server-limits.ts';

test('what a server says of files is kept for pictures, videos and documents', () => {
  const said = { image: { bytes: 1 }, video: { bytes: 2 }, document: { bytes: 3 } };
  expect(boundedLimits(said)).toEqual(said);
});
