import type { Fact, Topic } from '../../platform/outbox/index.ts';
import {
  cents,
  comparisonOf,
  wholeNumber,
  excerpt,
  gigabytes,
  labelOfMetric,
  linesOf,
  sentences,
  shortened,
} from './texts.ts';
import type { Told } from './told.ts';

const ofAnalytics = {
  category: 'analytics_alerts',
  permission: 'posts:create',
  link: { path: '/analytics', permission: 'analytics:read' },
} as const;

type Decided = Fact<'post.approved' | 'post.rejected'>;
type PostFact = Fact<
  | 'post.published'
  | 'post.missed'
  | 'post.failed'
  | 'post.unconfirmed'
  | 'first_comment.failed'
  | 'plug.failed'
  | 'post.approval_requested'
>;
type ChannelFact = Fact<'channel.refresh_needed' | 'channel.token_expiring' | 'channel.disabled'>;

const ofPost = ({ entityId, payload: { channelId, createdBy } }: PostFact | Decided) => ({
  maker: createdBy,
  link: { path: `/posts/${entityId}`, permission: 'posts:read' as const },
  data: { postId: entityId, integrationId: channelId },
});
const failed = (fact: PostFact, title: string, why: string): Told => ({
  category: 'post_failed',
  permission: 'channels:manage',
  title: `${title} ${fact.payload.channelName}`,
  content: sentences(why, excerpt(fact.payload.content)),
  ...ofPost(fact),
});
const ofChannel = ({ entityId }: ChannelFact, title: string, content: string): Told => ({
  category: 'channel_issues',
  permission: 'channels:update',
  title,
  content,
  link: { path: `/channels/${entityId}`, permission: 'channels:read' },
  data: { integrationId: entityId },
});

const decided = (fact: Decided, title: string): Told => ({
  category: 'approvals',
  title: `${title} ${fact.payload.channelName}`,
  content: sentences(fact.payload.reason ?? '', excerpt(fact.payload.content)),
  ...ofPost(fact),
});

/** Why a channel does nothing any more, for people. */
const DISABLED = { person: 'A member disabled it.', plan: 'The plan has no room for it any more.' } as const;
const SOON = { '7_days': 'ends in a week', '1_day': 'ends within a day' } as const;
const ENDS = {
  done: 'Done: ',
  failed: 'Failed: ',
  unknown: 'Nobody knows how it ended: ',
} as const;

/** Every fact that people are told of: a line for its topic, with its text; null where nobody is told. */
const CATALOG = {
  'post.published': (fact) => ({
    category: 'post_published',
    title: `Published on ${fact.payload.channelName}`,
    content: sentences(excerpt(fact.payload.content), fact.payload.url),
    ...ofPost(fact),
  }),
  'post.failed': (fact) => failed(fact, 'A post was not published on', fact.payload.error),
  'post.missed': (fact) =>
    fact.payload.state === 'ERROR'
      ? null // also told by `post.failed`
      : failed(fact, 'A post goes out late on', 'The service was down when it was due.'),
  'post.unconfirmed': (fact) =>
    failed(
      fact,
      'Nobody can say whether a post was published on',
      sentences(fact.payload.error, 'Look at the channel before you send it again.'),
    ),
  'first_comment.failed': (fact) => failed(fact, 'The first comment was not written on', fact.payload.error ?? ''),
  'plug.failed': (fact) => {
    const { plug, actingName, error } = fact.payload;
    return failed(fact, 'A plug failed for a post on', `${plug}, by ${actingName}: ${error}`);
  },
  'post.approval_requested': (fact) => ({
    category: 'approvals',
    permission: 'posts:manage',
    title: `A post for ${fact.payload.channelName} waits for approval`,
    content: excerpt(fact.payload.content),
    ...ofPost(fact),
    maker: null, // asks, and needs not be told
  }),
  'proposal.created': ({ entityId, payload: { program, excerpt: words } }) => ({
    category: 'proposals',
    permission: 'posts:create',
    title: program === null ? 'Posts were proposed' : `${program} proposes posts`,
    content: excerpt(words),
    link: null,
    data: { proposalId: entityId },
  }),
  'post.approved': (fact) => decided(fact, 'Your post was approved for'),
  'post.rejected': (fact) => decided(fact, 'Your post was rejected for'),
  'channel.refresh_needed': (fact) =>
    ofChannel(fact, `${fact.payload.name} needs a new login`, 'Its posts wait until somebody connects it again.'),
  'channel.token_expiring': (fact) =>
    ofChannel(
      fact,
      `The login of ${fact.payload.name} ${SOON[fact.payload.reason]}`,
      'Connect it again, or its posts will wait.',
    ),
  'channel.disabled': (fact) => ofChannel(fact, `${fact.payload.name} is disabled`, DISABLED[fact.payload.reason]),
  'route.down': ({ entityId, payload: { name, reason } }) => ({
    category: 'channel_issues',
    permission: 'channels:update',
    title: `The route ${name} does not work`,
    content: sentences(reason, 'What goes over it waits until it works again, or another route is chosen.'),
    link: { path: '/channels', permission: 'channels:read' },
    data: { routeId: entityId },
  }),
  'comment.synced': ({ entityId, payload: { name, count, makers, content, authorName } }) => ({
    category: 'replies',
    makers,
    permission: 'comments:update',
    title: count === 1 ? `A new comment on ${name}` : `${count} new comments on ${name}`,
    content: `${authorName}: ${shortened(content)}`,
    link: { path: `/comments?integrationId=${entityId}`, permission: 'comments:read' },
    data: { integrationId: entityId, count },
  }),
  'ai.budget_alert': ({ payload: { domain, providerId, period, percent, capCents, spentMicros } }) => ({
    category: 'ai_budget',
    permission: 'settings:update',
    title: `${percent} % of the AI budget of this ${period} is spent`,
    content: `${cents(spentMicros)} of ${(capCents / 100).toFixed(2)} USD${providerId === null ? '' : ` at ${providerId}`}.`,
    link: { path: '/settings', permission: 'settings:read' },
    data: { domain, providerId, period, percent },
  }),
  'streak.at_risk': ({ payload: { days, day } }) => ({
    category: 'streak_reminders',
    permission: 'posts:create',
    title: `Your streak of ${days} days ends today`,
    content: 'Nothing was published today: publish a post before midnight and it goes on.',
    link: { path: '/posts', permission: 'posts:read' },
    data: { days, day },
  }),
  'webhook.failing': ({ entityId, payload: { name, failures, lastError } }) => ({
    category: 'webhook_issues',
    permission: 'webhooks:update',
    title: `Deliveries to ${name} fail`,
    content: sentences(`The last ${failures} in a row have failed.`, lastError ?? ''),
    link: { path: '/settings', permission: 'settings:read' },
    data: { webhookId: entityId, failures },
  }),
  'storage.over_quota': ({ payload: { bytes, quotaBytes } }) => ({
    category: 'storage',
    permission: 'settings:update',
    title: 'The local storage is over its soft quota',
    content: `${gigabytes(bytes)} of ${gigabytes(quotaBytes)} GB are used. Uploads still pass.`,
    link: { path: '/media', permission: 'media:read' },
    data: { bytes, quotaBytes },
  }),
  'analytics.anomaly_detected': ({ payload: { anomalies } }) => ({
    ...ofAnalytics,
    title:
      anomalies.length === 1
        ? `${labelOfMetric(anomalies[0]!.metric)} of ${anomalies[0]!.integrationName} stand out`
        : `${anomalies.length} numbers of your channels stand out`,
    content: linesOf(
      anomalies.map(
        ({ metric, integrationName, value, baseline, date }) =>
          `${labelOfMetric(metric)} of ${integrationName}: ${wholeNumber(value)} on ${date}, usually ${wholeNumber(baseline)}`,
      ),
    ),
    data: { anomalies: anomalies.length, date: anomalies[0]?.date ?? null },
  }),
  'analytics.week_summed': ({ payload: { from, to, channels, metrics } }) => ({
    ...ofAnalytics,
    title: `Your week from ${from} to ${to}`,
    content: linesOf(
      metrics.map((one) => `${labelOfMetric(one.metric)}: ${wholeNumber(one.value)}${comparisonOf(one)}`),
    ),
    data: { from, to, channels },
  }),
  'agents.week_summed': ({
    payload: { userId, from, to, acts, programs, waiting, runs, spentMicros, drafts, summary },
  }) => ({
    category: 'agent_briefs',
    reader: userId,
    permission: 'ai:read',
    title: `Your agents from ${from} to ${to}`,
    content: sentences(
      summary ?? '',
      acts > 0 ? `Acts of agents: ${acts}${programs.length > 0 ? ` (${programs.join(', ')})` : ''}` : '',
      waiting > 0 ? `Proposals that wait for you: ${waiting}` : '',
      drafts > 0 ? `New drafts: ${drafts}` : '',
      runs > 0 ? `Runs of designer and content pipeline: ${runs}` : '',
      spentMicros > 0 ? `Spent on AI and media: ${cents(spentMicros)} USD` : '',
    ),
    link: null,
    data: { from, to, acts, waiting, drafts, runs },
  }),
  'media.job_ended': ({ entityId, payload: { userId, operation, state, error } }) => ({
    category: 'media_jobs',
    maker: userId,
    title: `${ENDS[state]}${operation}`,
    content: error ?? '',
    link: { path: '/media', permission: 'media:read' },
    data: { jobId: entityId, state },
  }),
} as const satisfies { [T in Topic]?: (fact: Fact<T>) => Told | null };

type ToldTopic = keyof typeof CATALOG;
export const TOLD_TOPICS = Object.keys(CATALOG) as readonly ToldTopic[]; // of the object above
export function toldOf(fact: Fact<ToldTopic>): Told | null {
  const tell = CATALOG[fact.topic] as (fact: Fact) => Told | null; // of the topic that its key names
  return tell(fact);
}
