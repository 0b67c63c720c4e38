import { openBillingWing } from './billing/open.ts';
import type { Payments } from './billing/payments/index.ts';
import { emailsRetention } from './delivery/email/index.ts';
import { openDeliveryWing } from './delivery/open.ts';
import { openEntitlementsWing } from './entitlements/open.ts';
import { channelDaysRetention, postDaysRetention, recentCountsOf } from './insights/analytics/index.ts';
import { openInsightsWing } from './insights/open.ts';
import { filesRetention, uploadsRetention, urlOfKey } from './library/media/index.ts';
import { openLibraryWing } from './library/open.ts';
import { approvalNamesOf, deleteApprovalsOf } from './oauth-server/index.ts';
import { openOAuthServerWing } from './oauth-server/open.ts';
import { openOperationsWing } from './operations/open.ts';
import { holdersOf } from './people/access/index.ts';
import { tracesRetention } from './people/auth/index.ts';
import { ssoOf } from './people/federated-login/index.ts';
import { disableMembersForPlan as disableMembers } from './people/members/index.ts';
import { notificationsRetention } from './people/notifications/index.ts';
import { openPeopleWing } from './people/open.ts';
import { type Engine, forgetActorsOf, type Reminder } from './platform/actor-runtime/index.ts';
import { auditRetention } from './platform/audit/index.ts';
import type { Config } from './platform/config/index.ts';
import type { Database, RetentionRule, Sql } from './platform/db/index.ts';
import { errorsRetention } from './platform/error-log/index.ts';
import { type Clock, systemClock } from './platform/kernel/index.ts';
import { type EngineAndBus, openPlatformWing } from './platform/open.ts';
import { forgetRefused, retryRefused } from './platform/outbox/index.ts';
import type { Network } from './platform/outbound/index.ts';
import type { Logs } from './platform/telemetry/index.ts';
import type { Wing } from './platform/wing/index.ts';
import { openProvidersWing } from './providers/open.ts';
import type { ProvidersOptions } from './providers/registry/index.ts';
import { deleteFeedsOf, feedNamesOf } from './publishing/calendar/index.ts';
import { disableForPlan as disableChannels, pauseQueue, stopAll as stopChannels } from './publishing/channels/index.ts';
import { commentsRetention } from './publishing/comments/index.ts';
import { openPublishingWing, resumeOrgPosts } from './publishing/open.ts';
import { campaignsRetention, type DueChange, postsRetention, type ReminderMoves } from './publishing/posts/index.ts';
import { copyProgramDay } from './studio/budget/index.ts';
import { mediaJobsRetention } from './studio/media-jobs/index.ts';
import { aiTracesRetention, runsRetention } from './studio/runs/index.ts';
import { openStudioWing } from './studio/open.ts';

/** What is kept for a while only, and for how long: a line for each rule, which stands beside its table. */
export const RETENTION_RULES: readonly RetentionRule[] = [
  emailsRetention,
  errorsRetention,
  notificationsRetention,
  uploadsRetention,
  postsRetention,
  filesRetention,
  tracesRetention,
  mediaJobsRetention,
  runsRetention,
  aiTracesRetention,
  auditRetention,
  commentsRetention,
  campaignsRetention,
  channelDaysRetention,
  postDaysRetention,
];

/** The rooms of a wing by name. */
type RoomsOf<Open extends (needs: never) => Promise<Wing>> = Awaited<ReturnType<Open>>['rooms'];

/** Every room of one process, built once, and what the wings hand to the actor host. */
export interface Context
  extends
    RoomsOf<typeof openPlatformWing>,
    RoomsOf<typeof openEntitlementsWing>,
    RoomsOf<typeof openProvidersWing>,
    RoomsOf<typeof openDeliveryWing>,
    RoomsOf<typeof openLibraryWing>,
    RoomsOf<typeof openPeopleWing>,
    RoomsOf<typeof openOAuthServerWing>,
    RoomsOf<typeof openBillingWing>,
    RoomsOf<typeof openPublishingWing>,
    RoomsOf<typeof openInsightsWing>,
    RoomsOf<typeof openStudioWing>,
    RoomsOf<typeof openOperationsWing>,
    Pick<Wing, 'sweeps' | 'listeners' | 'workers'> {
  readonly config: Config;
  readonly clock: Clock;
}

export type { EngineAndBus };

export interface ContextOptions {
  logs: Logs;
  /** Every actor type there is, hosted here or not. */
  actorTypes: readonly string[];
  /** The reminder that is moved when a channel's next due time changes. */
  channelReminder: (due: DueChange) => Reminder;
  /** Address of the sandbox network, where it runs. */
  sandboxUrl: string | undefined;
  // The rest is for tests: parts at the edge of the process in place of the configured ones.
  clock?: Clock;
  /** A pool that is open already; its opener closes it. */
  sql?: Database;
  /** An engine with its bus; their opener closes them. */
  engine?: EngineAndBus;
  /** Address of a payment processor. */
  paymentsServer?: string;
  /** Base addresses of providers in place of their own, by `domain/id` or, of a further host, `domain/id/name`. */
  servers?: Readonly<Record<string, string>>;
  /** Providers beside the product's own. */
  adapters?: ProvidersOptions['adapters'];
  network?: Network;
}

/**
 * Opens the wings in their order, each with the rooms below it, and merges their rooms; disposing of the context closes
 * them in reverse.
 */
export async function openContext(
  config: Config,
  {
    logs,
    actorTypes,
    channelReminder,
    sandboxUrl,
    clock = systemClock,
    paymentsServer,
    servers = {},
    adapters = [],
    network = {},
    ...edge
  }: ContextOptions,
): Promise<Context & AsyncDisposable> {
  await using opened = new AsyncDisposableStack();
  const wings: Wing[] = [];
  const enter = <Rooms extends object>(wing: Wing<Rooms>): Rooms => {
    wings.push(opened.use(wing));
    return wing.rooms;
  };

  const platform = enter(await openPlatformWing({ config, logs, actorTypes, clock, network, ...edge }));
  const base = { config, clock, ...platform };
  const ports = bindPorts(config, platform.engine, channelReminder, () => billing.payments);
  const entitlements = enter(await openEntitlementsWing({ ...base, ...ports }));
  const providers = enter(await openProvidersWing({ ...base, ...ports, sandboxUrl, servers, adapters, network }));
  const low = { ...base, ...entitlements, ...providers };
  const delivery = enter(await openDeliveryWing(low));
  const library = enter(await openLibraryWing(low));
  const people = enter(await openPeopleWing({ ...low, ...delivery, ...ports }));
  const oauthServer = enter(await openOAuthServerWing({ ...base, ...people }));
  const billing = enter(await openBillingWing({ ...low, ...delivery, ...people, ...ports, paymentsServer }));
  const publishing = enter(await openPublishingWing({ ...low, ...delivery, ...library, ...people, ...ports }));
  const insights = enter(await openInsightsWing({ ...low, ...publishing }));
  const aiReaders = holdersOf('ai:read');
  const { isAlone } = platform.engine;
  const studio = enter(await openStudioWing({ ...low, ...library, ...publishing, isAlone, aiReaders }));
  const operations = enter(
    await openOperationsWing({
      ...low,
      ...delivery,
      ...people,
      ...billing,
      ...publishing,
      ...ports,
      actorTypes,
      retentionRules: RETENTION_RULES,
      retryRefused: (id) => retryRefused({ ...platform, listeners: wings.flatMap(({ listeners }) => listeners) }, id),
    }),
  );

  for (const { name, help, read, label } of wings.flatMap(({ gauges }) => gauges))
    platform.metrics.gauge(name, help, read, label);
  const end = opened.move();
  return {
    ...low,
    ...delivery,
    ...library,
    ...people,
    ...oauthServer,
    ...billing,
    ...publishing,
    ...insights,
    ...studio,
    ...operations,
    sweeps: wings.flatMap(({ sweeps }) => sweeps),
    listeners: wings.flatMap(({ listeners }) => listeners),
    workers: wings.flatMap(({ workers }) => workers),
    [Symbol.asyncDispose]: () => end.disposeAsync(),
  };
}

/**
 * Binds what lower rooms ask of higher ones, most of it in the transaction of the caller: the interfaces are in their
 * `ports.ts`.
 */
const bindPorts = (
  config: Config,
  engine: Engine,
  channelReminder: (due: DueChange) => Reminder,
  payments: () => Pick<Payments, 'endAll'>,
) => ({
  sso: ssoOf(config.login),
  stop: { channels: disableChannels, members: disableMembers },
  spending: { copyDay: copyProgramDay },
  approvals: { namesOf: approvalNamesOf, endAllOf: deleteApprovalsOf },
  feeds: { namesOf: feedNamesOf, endAllOf: deleteFeedsOf },
  endings: {
    stopChannels,
    endSubscription: (transaction: Sql, orgId: string) => payments().endAll(transaction, orgId), // payments open later
    async forgetBackground(transaction: Sql, orgId: string): Promise<void> {
      await forgetActorsOf(transaction, orgId);
      await forgetRefused(transaction, orgId);
    },
  },
  urlOfPicture: (key: string) => urlOfKey(config.http.backendUrl, key),
  queue: { pauseQueue, resumeQueue: resumeOrgPosts },
  reminders: remindersOfChannels(engine, channelReminder),
  counts: { recentOf: recentCountsOf },
});

const remindersOfChannels = (engine: Engine, channelReminder: (due: DueChange) => Reminder): ReminderMoves => {
  const { type, name } = channelReminder({ orgId: '', channelId: '', dueAt: new Date(0) });
  return {
    within: (transaction, due) => engine.remindWithin(transaction, due.map(channelReminder)),
    inStatement: (sql, from, version) =>
      engine.remindIn(
        sql,
        sql`(
          select ${type}::text as type, org_id || ':' || channel_id as id, ${name}::text as name,
            date_trunc('milliseconds', due_at) as due_at, org_id::text as owner
          from ${from}
        ) moves`,
        version,
      ),
    moved: (due, version) => engine.reminded(due.map(channelReminder), version),
  };
};
