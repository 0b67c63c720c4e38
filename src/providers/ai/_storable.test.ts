import { expect, test } from '@jest/globals';
import type { TextEvent } from './_contract.ts';
import { storableEvents } from './_storable.ts';

test.each([
  ['leaves what is well formed as it is', ['One ', 'two 👍'], ['One ', 'two 👍']],
  ['drops NUL, and a piece of nothing else', ['a\0b', '\0'], ['ab']],
  ['puts a sign together that is cut between two pieces', ['a\ud83d', '\ude00b'], ['a', '😀b']],
  ['so with NUL between its halves', ['\ud83d', '\0', '\ude00'], ['😀']],
  ['replaces a half that stays alone', ['a\ud83d', 'b\ude00', 'c\ud83d'], ['a', '\ufffdb\ufffd', 'c', '\ufffd']],
])('%s', async (_, pieces, expected) => {
  const done = { type: 'done', text: pieces.join(''), end: 'stop', model: 'm\0', usage: {} } as const;
  async function* events(): AsyncGenerator<TextEvent> {
    for (const text of pieces) yield { type: 'text', text };
    yield done;
  }
  const told: TextEvent[] = [];
  for await (const event of storableEvents(events())) told.push(event);
  expect(told.slice(0, -1).map((event) => event.type === 'text' && event.text)).toEqual(expected);
  expect(told.at(-1)).toEqual({ ...done, text: expected.join(''), model: 'm' });
});
