import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import type { SocialAdapter } from '../../../src/providers/registry/index.ts';
import { describeProviders } from '../../support/peers/suites/provider.ts';
import { socialSuite } from '../../support/peers/suites/social.ts';
import { localProviders } from '../../support/worlds/providers.ts';

/** The networks of the specification, with the settings and methods that their clients name. */
const NETWORKS: Readonly<Record<string, { settings?: string; tools?: string }>> = {
  bluesky: {},
  devto: { settings: 'title main_image canonical organization tags', tools: 'tags organizations' },
  discord: { settings: 'channel', tools: 'channels' },
  dribbble: { settings: 'title team', tools: 'teams' },
  facebook: { settings: 'url post_type background' },
  gmb: {
    settings:
      'topicType callToActionType callToActionUrl eventTitle eventStartDate eventStartTime eventEndDate eventEndTime offerCouponCode offerRedeemUrl offerTerms',
  },
  hashnode: { settings: 'title subtitle main_image canonical publication tags', tools: 'publications tags' },
  instagram: {
    settings: 'post_type is_trial_reel graduation_strategy collaborators audio',
    tools: 'audioSearch',
  },
  'instagram-standalone': { settings: 'post_type is_trial_reel graduation_strategy collaborators audio' },
  kick: {},
  lemmy: { settings: 'subreddit', tools: 'subreddits' },
  linkedin: { settings: 'post_as_images_carousel carousel_name' },
  'linkedin-page': { settings: 'post_as_images_carousel carousel_name' },
  listmonk: { settings: 'subject preview list template', tools: 'list templates' },
  mastodon: {},
  medium: { settings: 'title subtitle canonical publication tags', tools: 'publications' },
  mewe: { settings: 'postType group', tools: 'groups' },
  moltbook: { settings: 'submolt' },
  nostr: {},
  peertube: { settings: 'title channel privacy category licence language nsfw tags' },
  pinterest: { settings: 'board title link dominant_color', tools: 'boards' },
  pixelfed: { settings: 'visibility sensitive spoiler_text place' },
  reddit: { settings: 'subreddit', tools: 'subreddits restrictions' },
  skool: { settings: 'group label title', tools: 'groups label' },
  slack: { settings: 'channel', tools: 'channels' },
  telegram: {},
  threads: {},
  tiktok: {
    settings:
      'title privacy_level duet stitch comment autoAddMusic brand_content_toggle brand_organic_toggle video_made_with_ai content_posting_method music location',
  },
  tumblr: { settings: 'title link sourceUrl tags' },
  twitch: { settings: 'messageType announcementColor' },
  vk: {},
  whop: { settings: 'company experience title', tools: 'companies experiences' },
  wordpress: {
    settings: 'title main_image type categories tags status',
    tools: 'postTypes categoriesList tagsList',
  },
  wrapcast: { settings: 'subreddit', tools: 'subreddits' },
  x: {
    settings:
      'who_can_reply_post community post_type article_title article_status article_cover made_with_ai paid_partnership',
  },
  youtube: { settings: 'title type selfDeclaredMadeForKids thumbnail tags' },
};

describe('the networks of the specification', () => {
  const registered = () => localProviders().list('social');
  const words = (text = '') => text.split(' ').filter(Boolean);
  const settingsOf = ({ settings }: SocialAdapter) =>
    Object.keys(z.toJSONSchema(settings, { io: 'input', unrepresentable: 'any' }).properties ?? {});

  test('are registered, all thirty-six, and no other but the sandbox', () => {
    expect(Object.keys(NETWORKS)).toHaveLength(36);
    const ids = registered().map(({ id }) => id);
    expect(ids.toSorted()).toEqual([...Object.keys(NETWORKS), 'sandbox'].toSorted());
  });
  test('judge every setting that clients name', () => {
    const missing = registered().flatMap((adapter) => {
      const known = settingsOf(adapter);
      return words(NETWORKS[adapter.id]?.settings)
        .filter((name) => !known.includes(name))
        .map((name) => `${adapter.id}: ${name}`);
    });
    expect(missing).toEqual([]);
  });
  test('have exactly the methods that clients name, and the sandbox one of its own', () => {
    const named = (id: string) => (id === 'sandbox' ? ['list_posts'] : words(NETWORKS[id]?.tools).toSorted());
    for (const { id, tools = {} } of registered()) expect([id, Object.keys(tools).toSorted()]).toEqual([id, named(id)]);
  });
});

// Nostr speaks sockets: its server in the tests (`social-servers`) and `nostr-talk.test.ts` show it.
await describeProviders(socialSuite, {
  without: ['sandbox', 'nostr'],
  beyond: ['prepare', 'plugs'],
});
