import { expect, test } from '@jest/globals';
import { redactText } from './redact.ts';

/** Texts that are long, and begin what is looked for again and again without coming to its end. */
const LONG: [string, (length: number) => string][] = [
  ['letters', (length) => 'x'.repeat(length)],
  ['schemes', (length) => 'a://'.repeat(length / 4)],
  ['users', (length) => 'a://b:'.repeat(length / 6)],
  ['tokens', (length) => 'eyJaaaaaaaa-'.repeat(length / 12)],
  ['tokens with points', (length) => 'eyJaaaaaaaa.'.repeat(length / 12)],
  ['keys', (length) => 'pm_live_'.repeat(length / 8)],
  ['queries', (length) => '?key='.repeat(length / 5)],
  ['bearers', (length) => 'Bearer  '.repeat(length / 8)],
];

test.each(LONG)(
  'the redaction reads a text of a million %s in linear time',
  (_, make) => {
    const text = make(1_000_000);
    expect(redactText(text).length).toBeLessThanOrEqual(text.length);
  },
  10_000,
);
