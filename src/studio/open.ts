import type { Billing } from '../entitlements/index.ts';
import type { BrandKits } from '../library/brand-kits/index.ts';
import type { MediaRoom } from '../library/media/index.ts';
import type { Cache } from '../platform/cache/index.ts';
import type { Config } from '../platform/config/index.ts';
import type { Database } from '../platform/db/index.ts';
import { type Clock, hmacHex } from '../platform/kernel/index.ts';
import type { Outbound } from '../platform/outbound/index.ts';
import type { Logs } from '../platform/telemetry/index.ts';
import { wing } from '../platform/wing/index.ts';
import type { Providers } from '../providers/registry/index.ts';
import type { ProviderSettings } from '../providers/settings/index.ts';
import type { Channels } from '../publishing/channels/index.ts';
import type { Posts } from '../publishing/posts/index.ts';
import { openBriefs } from './briefs/index.ts';
import { openBudget } from './budget/index.ts';
import { openDocuments } from './collaboration/index.ts';
import { openContentPipeline } from './content-pipeline/index.ts';
import { openDesigner } from './designer/index.ts';
import { openMediaJobs } from './media-jobs/index.ts';
import { openModels } from './models/index.ts';
import { openPages } from './pages/index.ts';
import { openAiRuns } from './runs/index.ts';
import { openTexts } from './text/index.ts';

export interface StudioNeeds {
  config: Config;
  sql: Database;
  clock: Clock;
  cache: Cache;
  incarnation: string;
  /** This process makes all jobs: no other one has to be looked for. */
  isAlone: boolean;
  logs: Logs;
  billing: Billing;
  providers: Providers;
  providerSettings: ProviderSettings;
  media: MediaRoom;
  brandKits: BrandKits;
  outbound: Outbound;
  channels: Channels;
  posts: Posts;
  /** Whose role holds `ai:read`: system roles, and permissions that roles of organizations grant. */
  aiReaders: { roles: readonly string[]; grants: readonly string[] };
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Opens what is made with providers of AI and media, and what it may cost. */
export async function openStudioWing({
  config,
  sql,
  clock,
  cache,
  incarnation,
  isAlone,
  logs,
  billing,
  providers,
  providerSettings,
  media,
  brandKits,
  outbound,
  channels,
  posts,
  aiReaders,
}: StudioNeeds) {
  await using opened = new AsyncDisposableStack();
  const budget = openBudget({
    sql,
    providers,
    settings: providerSettings,
    enforce: config.ai.enforceBudgets,
    log: logs.of('budget'),
  });
  const models = openModels({ cache, clock, providers, settings: providerSettings });
  const texts = openTexts({
    sql,
    clock,
    log: logs.of('texts'),
    budget,
    models,
    providers,
    media,
    channels,
  });
  const mediaJobs = opened.use(
    openMediaJobs({
      sql,
      clock,
      log: logs.of('media-jobs'),
      incarnation,
      billing,
      budget,
      models,
      media,
      providers,
      settings: providerSettings,
      backendUrl: config.http.backendUrl,
      signingKey: hmacHex(config.secrets.jwt, 'callbacks of media jobs'),
      retentionDays: config.retention.mediaJobs,
      isAlone,
    }),
  );
  const runs = opened.use(
    openAiRuns({
      sql,
      cache,
      clock,
      log: logs.of('runs'),
      incarnation,
      budget,
      models,
      providers,
      mediaJobs,
      traceDays: config.retention.traces,
      runDays: config.retention.designerSessions,
    }),
  );
  const contentPipeline = openContentPipeline({
    sql,
    clock,
    outbound,
    brandKits,
    posts,
    budget,
    models,
    pages: openPages({ outbound, clock }),
    runs,
    timeouts: { totalMs: config.ai.pipeline.totalTimeoutMs, agentMs: config.ai.pipeline.agentTimeoutMs },
  });
  const briefs = openBriefs({ sql, clock, log: logs.of('briefs'), texts, mayRead: aiReaders });
  const designer = openDesigner({
    sql,
    log: logs.of('designer'),
    runs,
    budget,
    mediaJobs,
    channels,
    brandKits,
    posts,
    billing,
    agentTimeoutMs: config.ai.designer.agentTimeoutMs,
    assetTimeoutMs: config.ai.designer.assetTimeoutMs,
    stuckMinutes: config.ai.designer.stuckSessionMinutes,
  });
  const documents = opened.use(openDocuments({ sql, clock, incarnation }));
  return wing(opened, {
    rooms: { budget, models, texts, mediaJobs, documents, runs, designer, contentPipeline },
    sweeps: [
      { name: 'ai-reservations', everyMs: MINUTE, run: (limit) => budget.settleLapsed(limit) },
      { name: 'ai-late-costs', everyMs: MINUTE, run: (limit) => budget.correctLateCosts(limit) },
      { name: 'collaboration', everyMs: HOUR, run: (limit) => documents.sweep(limit) },
      { name: 'media-jobs', everyMs: HOUR, run: (limit) => mediaJobs.sweep(limit) },
      { name: 'stuck-sessions', everyMs: MINUTE, run: (limit) => designer.rollBackStuck(limit) },
      { name: 'old-runs', everyMs: HOUR, run: (limit) => runs.sweepRuns(limit) },
      { name: 'ai-traces', everyMs: HOUR, run: (limit) => runs.sweepTraces(limit) },
      { name: 'agent-briefs', everyMs: 5 * MINUTE, run: (limit) => briefs.tellAgentWeeks(limit) },
    ],
    workers: [() => mediaJobs.start(), () => runs.start()],
  });
}
