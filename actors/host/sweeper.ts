import type { Admin } from '../../src/operations/admin/index.ts';
import type { ErrorLog } from '../../src/platform/error-log/index.ts';
import type { Auth } from '../../src/people/auth/index.ts';
import { dropOldAudit } from '../../src/platform/audit/index.ts';
import type { Payments } from '../../src/billing/payments/index.ts';
import type { Channels } from '../../src/publishing/channels/index.ts';
import type { Config } from '../../src/platform/config/index.ts';
import { type Database, declareRuns, dropOldKeys, dueRuns, type Lease, noteRun } from '../../src/platform/db/index.ts';
import type { Egress } from '../../src/publishing/egress/index.ts';
import type { EmailRoom } from '../../src/delivery/email/index.ts';
import type { Identity } from '../../src/people/identity/index.ts';
import { startLoop } from '../../src/platform/flow/index.ts';
import type { Clock } from '../../src/platform/kernel/index.ts';
import type { Login } from '../../src/people/federated-login/index.ts';
import type { Media } from '../../src/library/media/index.ts';
import type { OAuth } from '../../src/oauth-server/index.ts';
import type { Members } from '../../src/people/members/index.ts';
import type { Organizations } from '../../src/people/organizations/index.ts';
import type { Posts } from '../../src/publishing/posts/index.ts';
import { dropOldLedger } from '../../src/operations/sandbox/index.ts';
import type { Log } from '../../src/platform/telemetry/index.ts';
import type { Webhooks } from '../../src/delivery/webhooks/index.ts';

/** Periodic work on what nobody needs any more. */
export interface Sweep {
  name: string;
  everyMs: number;
  /** Does a part of it, at most `limit` rows on an index, and answers how many there were; called again while it answers `limit` or more. */
  run(limit: number): Promise<number>;
}
interface Rooms {
  config: { retention: Pick<Config['retention'], 'audit'> };
  sql: Database;
  login: Pick<Login, 'dropOld'>;
  media: Pick<Media, 'sweep'>;
  channels: Pick<Channels, 'dropOldLogins' | 'askServerLimits'>;
  oauth: Pick<OAuth, 'sweep'>;
  payments: Pick<Payments, 'sweep'>;
  posts: Pick<Posts, 'sweeps'>;
  webhooks: Pick<Webhooks, 'dropOld'>;
  egress: Pick<Egress, 'checkDue'>;
  email: Pick<EmailRoom, 'dropOld'>;
  admin: { orgs: Pick<Admin['orgs'], 'keepStill'> } & Pick<Admin, 'dropOldImpersonations'>;
  errors: Pick<ErrorLog, 'dropOld'>;
  auth: Pick<Auth, 'sendRequested' | 'dropExpiredCodes' | 'dropPending' | 'forgetTraces'> & { sessions: Pick<Auth['sessions'], 'dropEnded'> };
  identity: Pick<Identity, 'dropRemoved'>;
  members: { invitations: Pick<Members['invitations'], 'dropOld'> };
  organizations: Pick<Organizations, 'dropRemoved'>;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Every sweep there is. Hosts that fell silent are forgotten by the heartbeats of those that live. */
export const sweepsOf = ({
  admin,
  config,
  errors,
  sql,
  login,
  media,
  channels,
  egress,
  oauth,
  payments,
  posts,
  webhooks,
  email,
  auth,
  identity,
  members,
  organizations,
}: Rooms): readonly Sweep[] => [
  { name: 'idempotency-keys', everyMs: 15 * MINUTE, run: (limit) => dropOldKeys(sql, limit) },
  { name: 'logins', everyMs: 15 * MINUTE, run: (limit) => channels.dropOldLogins(limit) },
  { name: 'oauth', everyMs: HOUR, run: (limit) => oauth.sweep(limit) },
  { name: 'provider-logins', everyMs: 15 * MINUTE, run: (limit) => login.dropOld(limit) },
  { name: 'payments', everyMs: MINUTE, run: (limit) => payments.sweep(limit) },
  { name: 'media', everyMs: HOUR, run: (limit) => media.sweep(limit) },
  { name: 'lateness', everyMs: HOUR, run: (limit) => posts.sweeps.dropLateness(limit) },
  { name: 'webhook-deliveries', everyMs: HOUR, run: (limit) => webhooks.dropOld(limit) },
  { name: 'audit', everyMs: HOUR, run: (limit) => dropOldAudit(sql, config.retention.audit, limit) },
  { name: 'disabled-orgs', everyMs: MINUTE, run: (limit) => admin.orgs.keepStill(limit) },
  { name: 'impersonations', everyMs: HOUR, run: (limit) => admin.dropOldImpersonations(limit) },
  { name: 'errors', everyMs: HOUR, run: (limit) => errors.dropOld(limit) },
  { name: 'routes', everyMs: MINUTE, run: (limit) => egress.checkDue(limit) },
  { name: 'emails', everyMs: HOUR, run: (limit) => email.dropOld(limit) },
  { name: 'requested-mails', everyMs: MINUTE, run: (limit) => auth.sendRequested(limit) }, // those that the process which was asked has not written
  { name: 'one-time-codes', everyMs: HOUR, run: (limit) => auth.dropExpiredCodes(limit) },
  { name: 'pending-users', everyMs: HOUR, run: (limit) => auth.dropPending(limit) },
  { name: 'sessions', everyMs: HOUR, run: (limit) => auth.sessions.dropEnded(limit) },
  { name: 'invitations', everyMs: HOUR, run: (limit) => members.invitations.dropOld(limit) },
  { name: 'traces', everyMs: HOUR, run: (limit) => auth.forgetTraces(limit) },
  { name: 'server-limits', everyMs: MINUTE, run: (limit) => channels.askServerLimits(limit) },
  { name: 'contents', everyMs: MINUTE, run: (limit) => posts.sweeps.cleanContents(limit) },
  { name: 'deleted-posts', everyMs: HOUR, run: (limit) => posts.sweeps.dropDeleted(limit) },
  { name: 'organizations', everyMs: HOUR, run: (limit) => organizations.dropRemoved(limit) },
  { name: 'users', everyMs: HOUR, run: (limit) => identity.dropRemoved(limit) },
  { name: 'sandbox-ledger', everyMs: HOUR, run: (limit) => dropOldLedger(sql, limit) },
];

export interface SweeperOptions {
  sql: Database;
  sweeps: readonly Sweep[];
  /** One sweeper over all processes. */
  lease: Lease;
  clock: Clock;
  log: Log;
  /** Between two looks at what is due. */
  tickMs?: number;
  limit?: number;
}
export interface Sweeper extends AsyncDisposable {
  /** Runs what is due, one after the other; answers the names. Tests call it, the timer does too. */
  tick(): Promise<readonly string[]>;
}

const MOST_ROUNDS = 200;

/** Runs each sweep when its interval is over, in one process at a time, and keeps when it last ran, how that ended and how long it took (HE5). */
export function startSweeper({ sql, sweeps, lease, clock, log, tickMs = 30_000, limit = 500 }: SweeperOptions): Sweeper {
  let declared = false;

  async function runWhole({ name, run }: Sweep): Promise<void> {
    const started = clock.monotonic();
    let changed = 0;
    let status: 'ok' | 'failed' = 'ok';
    try {
      for (let round = 0; round < MOST_ROUNDS && !loop.signal.aborted; round++) {
        const done = await run(limit);
        changed += done;
        if (done < limit || !(await lease.held())) break;
      }
    } catch (error) {
      status = 'failed';
      log.warn({ sweep: name, err: error }, 'a sweep failed and is made again when its interval is over');
    }
    await noteRun(sql, { name, status, durationMs: clock.monotonic() - started, changed });
  }

  async function tick(): Promise<readonly string[]> {
    if (!(await lease.held())) return [];
    if (!declared)
      await declareRuns(
        sql,
        sweeps.map(({ name }) => name),
      );
    declared = true;
    const due = await dueRuns(sql, sweeps);
    for (const name of due) {
      if (loop.signal.aborted || !(await lease.held())) break;
      await runWhole(sweeps.find((sweep) => sweep.name === name)!);
    }
    return due;
  }

  const loop = startLoop({
    clock,
    lease,
    firstRestMs: tickMs,
    restMs: tickMs,
    round: async () => void (await tick()),
    onError: (error) => log.warn({ err: error }, 'the sweeps could not be looked at'),
  });
  return { tick, [Symbol.asyncDispose]: () => loop[Symbol.asyncDispose]() };
}
