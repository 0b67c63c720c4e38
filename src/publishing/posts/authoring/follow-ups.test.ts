import { expect, test } from '@jest/globals';
import type { PostPlug } from '../../../providers/registry/index.ts';
import { place, plugsOf } from '../../../providers/social/_plugs.ts';
import type { NetworkRules } from '../channels-port.ts';
import { checkFollowUps, isValidValue } from './follow-ups.ts';

test.each([
  ['^\\d{1,9}$', '10', true],
  ['^\\d{1,9}$', '', false],
  ['^\\d{1,9}$', '1\n', false],
  ['^\\d{1,9}$', '1 2', false],
  ['\\d+', 'a1', false], // the whole value
  ['^[\\s\\S]{3,}$', 'a\nb', true],
  ['^[\\s\\S]{3,}$', 'ab', false],
  [undefined, '', true],
])('the value of a plug must match its pattern as a whole: %s of %j', (pattern, value, fits) =>
  expect(isValidValue(pattern, value)).toBe(fits),
);

test('every pattern of a plug is one repeated class of characters, so that no value is built to backtrack', () => {
  const plugs = plugsOf('any', ['auto-repost', 'auto-comment', 'repost-from', 'comment-from']);
  const patterns = plugs.flatMap(({ fields }) => fields.flatMap(({ validation = '' }) => validation));
  for (const pattern of patterns) expect(pattern).toMatch(/^\^(\\d|\[[^\]]+\])(\{\d+,\d*\}|[+*])\$$/);
});

test('a repost goes to a place that fits the pattern of its field, or is refused with that key', () => {
  const where = place('community', 'Number of the community', '12', '^\\d{1,15}$');
  const postPlugs = plugsOf('any', ['repost-from'], ['any'], [where]) as PostPlug[]; // it acts by picked channels
  const channels = new Map([['own', { providerId: 'any', providerVersion: 'v1', serverLimits: null }]]);
  const rulesOf = () => ({}) as NetworkRules; // a repost has no text to judge
  const check = (more: object) =>
    checkFollowUps(
      { 'plug--any-repost-from--active': true, 'plug--any-repost-from--integrations': [{ id: 'own' }], ...more },
      'settings',
      { postPlugs },
      { channels, rulesOf },
    );
  expect(() => check({ 'plug--any-repost-from--community': '12' })).not.toThrow();
  for (const more of [{}, { 'plug--any-repost-from--community': 'r/test' }])
    expect(() => check(more)).toThrow(/plug--any-repost-from--community/);
});

test('the text of a plug is held against what the server of each picked channel takes', () => {
  const postPlugs = plugsOf('any', ['comment-from']) as PostPlug[]; // it acts by picked channels
  const channelAt = (text: number | undefined) => ({
    providerId: 'any',
    providerVersion: 'v1',
    serverLimits: text === undefined ? null : { text },
  });
  const channels = new Map([
    ['usual', channelAt(undefined)],
    ['more', channelAt(200)],
    ['less', channelAt(20)],
  ]);
  const rulesOf = (_id: string, _version: string, server?: { text?: number } | null) =>
    ({
      title: 'Any',
      limits: { text: 100, unit: 'characters', media: 0, mediaTypes: [], ...server },
      threads: 'reply',
      write: (content: string) => ({ text: content, plain: content, counted: content }),
    }) as unknown as NetworkRules; // what a text is judged by
  const check = (length: number, ...ids: string[]) =>
    checkFollowUps(
      {
        'plug--any-comment-from--active': true,
        'plug--any-comment-from--integrations': ids.map((id) => ({ id })),
        'plug--any-comment-from--post': 'x'.repeat(length),
      },
      'settings',
      { postPlugs },
      { channels, rulesOf },
    );
  expect(() => check(150, 'more')).not.toThrow();
  expect(() => check(50, 'usual', 'more')).not.toThrow();
  for (const ids of [
    ['usual', 'more'],
    ['more', 'usual'],
  ])
    expect(() => check(150, ...ids)).toThrow(/longer than 100/);
  for (const ids of [
    ['usual', 'less'],
    ['less', 'usual'],
  ])
    expect(() => check(50, ...ids)).toThrow(/longer than 20/);
});
