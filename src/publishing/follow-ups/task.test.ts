import { expect, test } from '@jest/globals';
import type { SocialAdapter } from '../../providers/registry/index.ts';
import { place, plugsOf } from '../../providers/social/_plugs.ts';
import type { FollowUpsDeps } from './deps.ts';
import type { FollowUp } from './row.ts';
import { taskOf } from './task.ts';

const where = place('community', 'Number of the community', '12', '^\\d{1,15}$');
const plugs = plugsOf('any', ['repost-from', 'comment-from'], ['any'], [where]);
const channels = { adapterOf: () => ({ plugs }) as unknown as SocialAdapter } as unknown as FollowUpsDeps['channels'];
const asking = (plug: string, settings: object) =>
  ({
    kind: 'post_plug',
    plug,
    channel: {},
    stop: null,
    isDeleted: false,
    isThreadOpen: false,
    network: {},
    settings,
    fields: null,
    reply: null,
  }) as unknown as FollowUp; // what a task is read from

test.each([
  ['any-repost-from', 'community', '12', { act: 'repost', fields: { community: '12' } }],
  ['any-comment-from', 'post', 'Well said', { act: 'comment', text: 'Well said' }],
])('%s acts by what its fields say', (plug, name, value, task) =>
  expect(taskOf({ channels }, asking(plug, { [`plug--${plug}--${name}`]: value, other: 'x' }))).toEqual({ task }),
);
