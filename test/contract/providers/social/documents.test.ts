import { describe, expect, test } from '@jest/globals';
import {
  botApi,
  discovery,
  faultsOf,
  openApi,
  type Operation,
  vkSchema,
} from '../../../support/peers/api-operations.ts';
import type { SocialFixture } from '../../../support/peers/social-suite.ts';

// Every request of a network's fixture, which the adapter sends field by field, against the official description of it.

interface Described {
  id: string;
  document: string;
  /** Requests below it are the document's. */
  base: string;
  operations: () => Operation[] | undefined;
  /** What the document lacks or has otherwise, and why it is asked all the same. */
  beyond?: Readonly<Record<string, string>>;
}
const NETWORKS: readonly Described[] = [
  {
    id: 'discord',
    document: 'discord.json',
    base: 'https://discord.com/api/v10',
    operations: () => openApi('discord.json'),
    beyond: {
      'POST /channels/11/messages: unknown field payload_json':
        'the reference of uploads names it: the message beside its files',
    },
  },
  {
    id: 'x',
    document: 'x.json',
    base: 'https://api.x.com',
    operations: () => openApi('x.json'),
    beyond: {
      'POST /2/oauth2/token: there is no such operation': 'the guide to OAuth 2.0 has it',
      'POST /2/oauth2/revoke: there is no such operation': 'the guide to OAuth 2.0 has it',
      'POST /2/media/upload/71/finalize: answer /data/processing_info must NOT have additional properties {"additionalProperty":"error"}':
        'the guide to chunked uploads has it',
    },
  },
  {
    id: 'wrapcast',
    document: 'neynar-api.yaml',
    base: 'https://api.neynar.com',
    operations: () => openApi('wrapcast/neynar-api.yaml'),
    beyond: {
      'POST /v2/farcaster/cast/: /embeds/0 must NOT have additional properties {"additionalProperty":"url"}':
        'the outer schema of an embed forbids what each of its forms has',
    },
  },
  {
    id: 'pinterest',
    document: 'pinterest.json',
    base: 'https://api.pinterest.com/v5',
    operations: () => openApi('pinterest.json'),
  },
  {
    id: 'telegram',
    document: 'telegram.json',
    base: 'https://api.telegram.org',
    operations: () => botApi('telegram.json'),
    beyond: Object.fromEntries(
      [
        'sendVideo: unknown field cover0',
        'sendMediaGroup: unknown field file0',
        'sendMediaGroup: unknown field file1',
      ].map((fault) => [`POST /bot123456:the-bot-token/${fault}`, 'a file, which a field names by attach://']),
    ),
  },
  {
    id: 'twitch',
    document: 'twitch.json',
    base: 'https://api.twitch.tv/helix',
    operations: () => openApi('twitch.json'),
  },
  {
    id: 'vk',
    document: 'vk',
    base: 'https://api.vk.com/method',
    operations: () => vkSchema(['wall', 'photos', 'video', 'users', 'groups']),
  },
  {
    id: 'youtube',
    document: 'youtube__v3.json',
    base: 'https://www.googleapis.com',
    operations: () => discovery('youtube/youtube__v3.json'),
    beyond: { 'PUT /upload/youtube/v3/videos: there is no such operation': 'the guide to resumable uploads has it' },
  },
  {
    id: 'gmb',
    document: 'mybusinessbusinessinformation__v1.json',
    base: 'https://mybusinessbusinessinformation.googleapis.com',
    operations: () => discovery('gmb/mybusinessbusinessinformation__v1.json'),
  },
  {
    id: 'gmb',
    document: 'businessprofileperformance__v1.json',
    base: 'https://businessprofileperformance.googleapis.com',
    operations: () => discovery('gmb/businessprofileperformance__v1.json'),
  },
  {
    id: 'gmb',
    document: 'mybusinessaccountmanagement__v1.json',
    base: 'https://mybusinessaccountmanagement.googleapis.com',
    operations: () => discovery('gmb/mybusinessaccountmanagement__v1.json'),
  },
];

describe.each(NETWORKS)('$id by $document', ({ id, document, base, operations, beyond = {} }) => {
  const described = operations();
  (described ? test : test.skip)(`is asked as ${document} says`, async () => {
    const fixture = ((await import(`../../../fixtures/providers/social/${id}.ts`)) as { default: SocialFixture })
      .default;
    const asked = fixture.cases
      .flatMap(({ exchanges }) => exchanges)
      .filter(({ asks }) => asks.url.startsWith(`${base}/`));
    expect(asked.length).toBeGreaterThan(0);
    const faults = new Set(asked.flatMap(({ asks, says }) => faultsOf(described!, base, asks, says)));
    expect([...faults].filter((fault) => !(fault in beyond))).toEqual([]);
    expect(Object.keys(beyond).filter((fault) => !faults.has(fault))).toEqual([]);
  });
});
