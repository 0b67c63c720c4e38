import { expect, test } from '@jest/globals';
import { settingCheck } from '../../../support/peers/suites/setting-bounds.ts';
import { localProviders } from '../../../support/worlds/providers.ts';

// Values that a network refuses and whose type does not tell: they are named when a post is made, not when it is due.

const dated = { eventTitle: 'Half price', eventStartDate: '2026-12-01' };
const hashnode = { title: 'A title', publication: 'p' };
const page = { title: 'A title', type: 'pages' };
const lemmy = (title: string) => ({ subreddit: [{ value: { id: '2', title } }] });
const WRONG: readonly [id: string, field: string, settings: object, right: object][] = [
  ['devto', 'tags', { title: 'A title', tags: ['web dev'] }, { title: 'A title', tags: ['WebDev', { value: 'go' }] }],
  ['devto', 'tags', { title: 'A title', tags: ['a', 'b', 'c', 'd', 'e'] }, { title: 'A title', tags: [] }],
  ['peertube', 'tags', { title: 'A title', tags: ['x'] }, { title: 'A title', tags: ['xy'] }],
  [
    'gmb',
    'eventEndDate',
    { topicType: 'EVENT', ...dated },
    { topicType: 'EVENT', ...dated, eventEndDate: '2026-12-02' },
  ],
  ['gmb', 'callToActionUrl', { callToActionType: 'SHOP' }, { callToActionType: 'CALL' }],
  [
    'medium',
    'tags',
    { title: 'A title', tags: ['x'.repeat(26)] }, // Medium ignores longer tags without a word
    { title: 'A title', tags: ['x'.repeat(25)] },
  ],
  [
    'reddit',
    'subreddit',
    { subreddit: [{ value: { subreddit: 'birds', title: 'A title', flair: { id: 'x'.repeat(37) } } }] },
    { subreddit: [{ value: { subreddit: 'birds', title: 'A title', flair: { id: 'x'.repeat(36) } } }] },
  ],
  ['instagram', 'collaborators', { collaborators: ['two words'] }, { collaborators: ['@ann.b_c', { label: 'ann' }] }],
  ['bluesky', 'selfLabels', { selfLabels: Array(11).fill('porn') }, { selfLabels: Array(10).fill('porn') }],
  ['peertube', 'privacy', { title: 'A title', privacy: 5 }, { title: 'A title', privacy: '4' }],
  ['hashnode', 'tags', { ...hashnode, tags: ['!'] }, { ...hashnode, tags: ['C++'] }], // a tag is known by its letters
  ['tiktok', 'privacy_level', {}, { content_posting_method: 'UPLOAD' }],
  ['wordpress', 'tags', { ...page, tags: ['New'] }, { ...page, tags: [], categories: [] }],
  ['wordpress', 'categories', { ...page, categories: [4] }, { ...page, type: 'posts', categories: [4], tags: ['New'] }],
  ['lemmy', 'subreddit', lemmy('  a '), lemmy(' abc ')],
  ['lemmy', 'subreddit', lemmy('Two\nlines'), lemmy('One line\n')],
  ['pixelfed', 'spoiler_text', { spoiler_text: 'x'.repeat(141) }, { spoiler_text: 'x'.repeat(140) }],
  ['mastodon', 'language', { language: 'German' }, { language: 'de' }],
  ['mewe', 'group', { group: '../me' }, { group: '5bf1c9a0' }], // it becomes a part of a path
  ['skool', 'group', { group: '..', title: 'A title' }, { group: 'a-1', title: 'A title' }],
  ['instagram', 'audio', { audio: { id: '1&b=2' } }, { audio: { id: '12' } }],
  ['youtube', 'title', { title: 'Two\nlines' }, { title: '日本語 – “one” line 🎬' }],
  ['gmb', 'offerTerms', { offerTerms: 'One\u0007each' }, { offerTerms: 'One each\nper day' }],
  ['facebook', 'url', { url: 'https://a.example/\nb' }, { url: ' https://a.example/ä b\n' }],
  ['hashnode', 'tags', { ...hashnode, tags: ['a\u0000b'] }, { ...hashnode, tags: [{ value: 'Straße' }] }],
  ['pinterest', 'dominant_color', { board: '1', dominant_color: 'red' }, { board: '1', dominant_color: '#ff0000' }],
];

test.each(WRONG)('of %s: names %s where it is wrong, and takes what is right', (id, field, wrong, right) => {
  const { settings } = localProviders().resolve('social', id, { allowPreview: true });
  expect(settings.safeParse(wrong).error?.issues.map(({ path }) => path[0])).toEqual([field]);
  expect(settings.safeParse(right).error).toBeUndefined();
});

// its server speaks sockets, so the suite of the others does not try it
test('of nostr: takes each setting at its limit, and no other characters', () =>
  settingCheck(localProviders().resolve('social', 'nostr'), {}).run());
