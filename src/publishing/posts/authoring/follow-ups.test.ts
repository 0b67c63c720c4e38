import { describe, expect, test } from '@jest/globals';
import type { PostPlug } from '../../../providers/registry/index.ts';
import { place, plugsOf } from '../../../providers/social/_plugs.ts';
import type { NetworkRules } from '../channels-port.ts';
import { checkFollowUps, isValidValue, plugValueOf } from './follow-ups.ts';

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
  const channels = new Map([['own', { providerId: 'any', providerVersion: 'v1', account: '1', serverLimits: null }]]);
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
    account: '1',
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

describe('values of single channels of a post plug', () => {
  const serverOf = (account: string) => account.split('@')[1]!;
  const where = [
    place('community', 'Number of the community', '12', '^\\d{1,15}$', serverOf),
    place('title', 'Title', 'A title', '^[^\\r\\n]{3,20}$'),
  ];
  const postPlugs = plugsOf('any', ['repost-from'], ['any'], where) as PostPlug[]; // it acts by picked channels
  const on = (account: string) => ({ providerId: 'any', providerVersion: 'v1', account, serverLimits: null });
  const channels = new Map([
    ['a', on('1@a.example')],
    ['too', on('2@a.example')],
    ['b', on('3@b.example')],
  ]);
  const PLUG = 'plug--any-repost-from--';
  const settingsOf = (picked: unknown[], more: object) => ({
    [`${PLUG}active`]: true,
    [`${PLUG}integrations`]: picked,
    ...more,
  });
  const ALL = { [`${PLUG}community`]: '12', [`${PLUG}title`]: 'A title' };
  /** The field that is refused, and why. */
  function refused(picked: unknown[], more: object = ALL): string | undefined {
    try {
      const actors = { channels, rulesOf: () => ({}) as NetworkRules }; // a repost has no text to judge
      checkFollowUps(settingsOf(picked, more), 'settings', { postPlugs }, actors);
      return undefined;
    } catch (error) {
      const [{ field, rule }] = (error as { extra: { errors: [{ field: string; rule: string }] } }).extra.errors;
      return `${field.replace(`settings.${PLUG}`, '')} ${rule}`;
    }
  }

  test('stand over those of all, and are needed where the place of all is one of another server [S145, PL12]', () => {
    const own = { id: 'b', fields: { community: '7' } };
    expect(refused([{ id: 'a' }, { id: 'too' }])).toBeUndefined();
    expect(refused([{ id: 'a' }, { id: 'b' }])).toBe('integrations.1.fields.community other_place');
    expect(refused([{ id: 'a' }, own])).toBeUndefined();
    expect(refused([{ id: 'a', fields: { community: '12', title: 'Mine' } }, own], { [`${PLUG}title`]: 'Ours' })).toBe(
      undefined,
    );
    const settings = settingsOf([{ id: 'a' }, own], ALL);
    expect(['a', 'b'].map((id) => plugValueOf(settings, 'any-repost-from', 'community', id))).toEqual(['12', '7']);
    expect(plugValueOf(settings, 'any-repost-from', 'title', 'b')).toBe('A title');
  });

  test.each([
    [[{ id: 'a', fields: { community: 'r/test' } }], 'integrations.0.fields.community invalid_format'],
    [[{ id: 'a', fields: { community: 12 } }], 'integrations.0.fields.community invalid_format'],
    [[{ id: 'a', fields: { board: '1' } }], 'integrations.0.fields.board unknown'],
    [[{ id: 'a', fields: ['12'] }], 'integrations.0.fields invalid_type'],
    [[{ id: 'a' }, { id: 'a', fields: { community: '7' } }], 'integrations.1.fields duplicate'],
  ])('are refused by their own path: %j [S145]', (picked, fault) => expect(refused(picked)).toBe(fault));

  test('leave the value of all needed by the channels without one', () => {
    const more = { [`${PLUG}title`]: 'A title' };
    expect(refused([{ id: 'a', fields: { community: '7' } }, { id: 'too' }], more)).toBe('community invalid_format');
  });
});
