import type { Billing } from '../entitlements/index.ts';
import type { MediaRoom } from '../library/media/index.ts';
import type { Identity } from '../people/identity/index.ts';
import type { Organizations } from '../people/organizations/index.ts';
import type { Cache } from '../platform/cache/index.ts';
import type { Config } from '../platform/config/index.ts';
import type { Database, Sql } from '../platform/db/index.ts';
import type { Clock, Vault } from '../platform/kernel/index.ts';
import type { Outbound } from '../platform/outbound/index.ts';
import type { Events, Logs } from '../platform/telemetry/index.ts';
import { wing } from '../platform/wing/index.ts';
import { checkReleaseId, type Providers } from '../providers/registry/index.ts';
import type { ProviderSettings } from '../providers/settings/index.ts';
import { openCalendar } from './calendar/index.ts';
import { openChannels, resumeQueue } from './channels/index.ts';
import { openComments } from './comments/index.ts';
import { openEgress } from './egress/index.ts';
import { type CountsPort, openFollowUps, planFollowUps, shortenThread } from './follow-ups/index.ts';
import { type DeliveriesPort, type Heartbeat, openPosts, type Posts, type ReminderMoves } from './posts/index.ts';
import { openProposals } from './proposals/index.ts';
import { openShortlinks } from './shortlinks/index.ts';

export interface PublishingNeeds {
  config: Config;
  incarnation: string;
  sql: Database;
  clock: Clock;
  cache: Cache;
  vault: Vault;
  outbound: Outbound;
  logs: Logs;
  events: Events;
  billing: Billing;
  webhooks: DeliveriesPort;
  providers: Providers;
  providerSettings: ProviderSettings;
  media: MediaRoom;
  identity: Identity;
  organizations: Organizations;
  /** The engine that runs the actors. */
  engine: Heartbeat;
  reminders: ReminderMoves;
  counts: CountsPort;
}

const FOLLOW_UPS = { plan: planFollowUps, shorten: shortenThread };

/** Starts the posts of an organization, for wings that are opened without the rooms of this one. */
export const resumeOrgPosts = (sql: Sql, orgId: string, reason?: 'billing' | 'instance'): Promise<void> =>
  resumeQueue({ followUps: FOLLOW_UPS }, sql, orgId, reason);

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const postOptionsOf = ({ actors, posts, retention }: Config) => ({
  horizonMs: actors.reminderHorizonHours * HOUR,
  inFlight: actors.inFlight,
  lateMs: posts.lateSeconds * 1_000,
  missedAfterMs: posts.missedAfterMinutes * MINUTE,
  deletedDays: retention.softDeleted,
  campaignDays: retention.campaigns,
});

const callsGauge = (posts: Posts) => ({
  name: 'provider_calls',
  help: 'Provider calls of this process.',
  read: () => ({ under_way: posts.gauges.inFlight, waiting: posts.gauges.waiting }),
  label: 'state',
});

/** Opens posts, and what they leave by: channels, egress routes, short links. */
export async function openPublishingWing({
  config,
  incarnation,
  sql,
  clock,
  cache,
  vault,
  outbound,
  logs,
  events,
  billing,
  webhooks,
  providers,
  providerSettings,
  media,
  identity,
  organizations,
  engine,
  reminders,
  counts,
}: PublishingNeeds) {
  await using opened = new AsyncDisposableStack();
  const egress = openEgress({ sql, clock, providers, settings: providerSettings, events });
  const channels = openChannels({
    egress,
    sql,
    clock,
    cache,
    vault,
    providers,
    settings: providerSettings,
    outbound,
    billing,
    followUps: FOLLOW_UPS,
    media,
    frontendUrl: config.http.frontendUrl,
    returnUrlAllowlist: config.social.returnUrlAllowlist,
    stripLinksFrom: config.social.stripLinksFrom,
    events,
  });
  const shortlinks = openShortlinks({
    sql,
    clock,
    providers,
    organizations,
    settings: providerSettings,
    log: logs.of('shortlinks'),
  });
  const posts = opened.use(
    openPosts({
      sql,
      clock,
      reminders,
      channels,
      media,
      links: shortlinks,
      followUps: FOLLOW_UPS,
      billing,
      profiles: identity,
      deliveries: webhooks,
      releaseIds: { check: (post, id) => checkReleaseId(channels.adapterOf(post) ?? {}, id, post.account) },
      incarnation,
      heartbeat: engine,
      log: logs.of('posts'),
      events,
      options: postOptionsOf(config),
    }),
  );
  const followUps = openFollowUps({
    sql,
    clock,
    incarnation,
    posts,
    channels,
    links: shortlinks,
    providers,
    counts,
    log: logs.of('follow-ups'),
  });
  const comments = openComments({
    sql,
    clock,
    posts,
    channels,
    providers,
    log: logs.of('comments'),
    minutes: config.analytics.commentsSweepMinutes,
    days: config.retention.socialComments,
  });
  const calendar = openCalendar({ sql, clock, channels, posts, billing, backendUrl: config.http.backendUrl });
  const proposals = openProposals({ sql });
  return wing(opened, {
    rooms: { egress, channels, shortlinks, posts, followUps, comments, calendar, proposals },
    sweeps: [
      { name: 'routes', everyMs: MINUTE, run: (limit) => egress.checkDue(limit) },
      { name: 'logins', everyMs: 15 * MINUTE, run: (limit) => channels.dropOldLogins(limit) },
      { name: 'choices', everyMs: 15 * MINUTE, run: (limit) => channels.dropOldChoices(limit) },
      { name: 'renewals', everyMs: 10 * MINUTE, run: (limit) => channels.renewIdle(limit) },
      { name: 'token-expiry', everyMs: HOUR, run: (limit) => channels.tellExpiring(limit) },
      { name: 'server-limits', everyMs: MINUTE, run: (limit) => channels.askServerLimits(limit) },
      { name: 'lateness', everyMs: HOUR, run: (limit) => posts.sweeps.dropLateness(limit) },
      { name: 'paces', everyMs: HOUR, run: (limit) => posts.sweeps.dropPaces(limit) },
      { name: 'circuits', everyMs: HOUR, run: (limit) => posts.sweeps.dropCircuits(limit) },
      { name: 'contents', everyMs: MINUTE, run: (limit) => posts.sweeps.cleanOldContents(limit) },
      { name: 'auto-plugs', everyMs: MINUTE, run: (limit) => followUps.runAutoPlugs(limit) },
      { name: 'comments', everyMs: MINUTE, run: (limit) => comments.sweepComments(limit) },
      { name: 'old-comments', everyMs: HOUR, run: (limit) => comments.dropOldComments(limit) },
      { name: 'post-plans', everyMs: HOUR, run: (limit) => posts.sweeps.dropPlans(limit) },
      { name: 'proposals', everyMs: HOUR, run: (limit) => proposals.dropOld(limit) },
      { name: 'deleted-posts', everyMs: HOUR, run: (limit) => posts.sweeps.dropDeleted(limit) },
      { name: 'ended-campaigns', everyMs: HOUR, run: (limit) => posts.sweeps.purgeCampaigns(limit) },
    ],
    gauges: [callsGauge(posts)],
    workers: [() => shortlinks.startMaker()],
  });
}
