import { expect, test } from '@jest/globals';
import { judge as judgeInput } from '../../../platform/kernel/index.ts';
import { writerOf } from '../../../providers/registry/index.ts';
import { CreateBody, dateShiftOf } from './body.ts';
import { typedSettings } from './compose.ts';
import { DateText, readDate } from './dates.ts';
import { judgeThread } from './judge.ts';

test.each([
  ['2026-09-01T10:00:00.000Z', '2026-09-01T10:00:00.000Z'],
  ['2026-09-01T10:00:00Z', '2026-09-01T10:00:00.000Z'],
  ['2026-09-01T10:00:00', '2026-09-01T10:00:00.000Z'],
  ['2026-09-01T12:00:00+02:00', '2026-09-01T10:00:00.000Z'],
  ['2026-09-01T12:00+0200', '2026-09-01T10:00:00.000Z'],
  ['2026-09-01', '2026-09-01T00:00:00.000Z'],
  [' 2026-09-01 10:00 ', '2026-09-01T10:00:00.000Z'],
  ['2026-09-01T10:00:00.123456789Z', '2026-09-01T10:00:00.123Z'],
  ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
])('%s is read', (text, date) => expect(readDate(text)?.toISOString()).toBe(date));
test.each([
  '',
  'tomorrow',
  '2026-02-30',
  '2026-13-01',
  '2026-09-01T25:00:00Z',
  '2026-09-01T10:61',
  '1756720800',
  '09/01/2026',
  '2026-09-01T10:00:00+99:99',
  '+020260-09-01',
  '9999-01-01T00:00:00Z',
])('"%s" is no date', (text) => expect(readDate(text)).toBeUndefined());

test.each([
  ['tomorrow', 'is not a date of ISO 8601, like 2026-01-31T18:00:00Z'],
  ['2026-02-31', 'names a day that no calendar has'],
  ['2026-09-01T25:00:00Z', 'names a time or an offset that no day has'],
  ['9999-12-31T00:00:00Z', 'must lie in the years 1 to 9000'],
  ['0000-06-01', 'must lie in the years 1 to 9000'],
  ['0001-01-01T00:00:00+14:00', 'must lie in the years 1 to 9000'],
  ['x'.repeat(101), 'must have at most 100 characters'],
])('"%s" is told the rule that it breaks', (text, sentence) =>
  expect(judgeInput(DateText, text, ['date']).errors?.map(({ message }) => message)).toEqual([`date: ${sentence}`]),
);

test.each([
  ['2027-03-28T02:30:00', 'Europe/Berlin', 'skipped'],
  ['2027-10-31T02:30:00', 'Europe/Berlin', 'doubled'],
  ['2027-03-28T04:30:00', 'Europe/Berlin', undefined],
  ['2027-03-28T02:30:00+01:00', 'Europe/Berlin', undefined],
  ['2027-03-28T02:30:00', undefined, undefined],
])('%s in %s is shifted by the clocks: %s', (date, timezone, shift) => {
  const posts = [{ integration: { id: 'x' }, value: [{ content: 'x' }] }];
  expect(dateShiftOf(CreateBody.parse({ type: 'schedule', date, timezone, posts }))).toBe(shift);
});

const rules = {
  title: 'Net',
  hasComments: false,
  postPlugs: [],
  limits: { text: 10, unit: 'graphemes', linkLength: 4, media: 1, needsMedia: false, mediaTypes: [] },
  threads: 'reply',
  pace: [],
  write: writerOf({}),
  checkSettings: () => {},
} as const;
const media = {
  facts: async (_: string, lists: readonly (readonly unknown[])[]) => lists.map((list) => list.map(() => undefined)),
};
const judge = (items: { content: string; media?: { path: string; alt: string }[] }[], more: object = {}) =>
  judgeThread({ media }, 'an organization', {
    rules: { ...rules, limits: { ...rules.limits, ...more } },
    channel: { name: 'Acme', providerId: 'net', settings: {} },
    settings: {},
    settingsAt: 'settings',
    items: items.map(({ content, media: files = [] }, n) => ({
      content,
      media: files,
      at: `value.${n}.`,
      isLater: n > 0,
    })),
  });

test('length is that of the plain text, in the network’s unit, a link at its fixed length', async () => {
  await judge([{ content: '<p><strong>0123456789</strong></p>' }]);
  await judge([{ content: '👨‍👩‍👧‍👦👨‍👩‍👧‍👦' }]);
  await judge([{ content: 'see https://a.example/a-very-long-path' }]);
  await expect(judge([{ content: '0123456789x' }])).rejects.toThrow('the text is longer than 10 graphemes (11)');
  await expect(judge([{ content: 'x'.repeat(500) }])).rejects.toThrow(
    'the text is longer than 10 graphemes (100 or more)',
  );
  await expect(judge([{ content: `e${'\u0301'.repeat(50)}` }], { textBytes: 100 })).rejects.toThrow(
    'the text is longer than 100 bytes (101)',
  );
  await expect(judge([{ content: '👨‍👩‍👧‍👦' }], { unit: 'bytes' })).rejects.toThrow('longer than 10 bytes');
});
test('neither text nor media, too much media, media that is needed', async () => {
  await expect(judge([{ content: '<p> </p>' }])).rejects.toThrow('neither text nor media');
  await judge([{ content: '', media: [{ path: 'x', alt: '' }] }]);
  await expect(
    judge([
      {
        content: 'x',
        media: [
          { path: 'x', alt: '' },
          { path: 'y', alt: '' },
        ],
      },
    ]),
  ).rejects.toThrow('at most 1 files');
  await expect(judge([{ content: 'x' }], { needsMedia: true })).rejects.toThrow('a picture or video is needed');
  await expect(judge([{ content: 'x' }, { content: '0123456789x' }])).rejects.toThrow('item 2 of the thread');
});
test('the channel’s provider stands in the settings, whatever was sent', () =>
  expect(typedSettings({ __type: 'twitter', a: 1 }, 'x')).toEqual({ __type: 'x', a: 1 }));
