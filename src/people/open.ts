import type { EmailRoom } from '../delivery/email/index.ts';
import type { Push } from '../delivery/push/index.ts';
import type { Billing } from '../entitlements/index.ts';
import type { Cache } from '../platform/cache/index.ts';
import type { Config } from '../platform/config/index.ts';
import type { Database } from '../platform/db/index.ts';
import type { ErrorLog } from '../platform/error-log/index.ts';
import type { Clock, Vault } from '../platform/kernel/index.ts';
import type { Logs } from '../platform/telemetry/index.ts';
import { wing } from '../platform/wing/index.ts';
import type { Providers } from '../providers/registry/index.ts';
import type { ProviderSettings } from '../providers/settings/index.ts';
import { type Approvals, type CalendarFeeds, openAuth, type ProgramSpending } from './auth/index.ts';
import { environmentLogins, openFederatedLogin } from './federated-login/index.ts';
import { openIdentity, setupTokenOf } from './identity/index.ts';
import { forgetInvitations, openMembers } from './members/index.ts';
import { notificationsListener, openLive, openNotifications, rescheduleWindows } from './notifications/index.ts';
import { type Endings, openOrganizations } from './organizations/index.ts';

export interface PeopleNeeds {
  config: Config;
  sql: Database;
  clock: Clock;
  cache: Cache;
  vault: Vault;
  logs: Logs;
  errors: Pick<ErrorLog, 'forgetMentions'>;
  billing: Billing;
  email: EmailRoom;
  push: Push;
  providers: Providers;
  providerSettings: ProviderSettings;
  approvals: Approvals;
  feeds: CalendarFeeds;
  spending: ProgramSpending;
  endings: Endings;
  /** The public address of a stored picture. */
  urlOfPicture: (storageKey: string) => string;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Opens users and their logins, and the organizations that they are members of. */
export async function openPeopleWing({
  config,
  sql,
  clock,
  cache,
  vault,
  logs,
  errors,
  billing,
  email,
  push,
  providers,
  providerSettings,
  ...ports
}: PeopleNeeds) {
  await using opened = new AsyncDisposableStack();
  const { frontendUrl } = config.http;
  const identity = openIdentity({
    sql,
    registrationDisabled: config.registration.disabled,
    setupToken: setupTokenOf(config.secrets.jwt),
    forgetAddresses: async (transaction, gone) => {
      const addresses = gone.map((one) => one.email);
      return {
        emails: await email.forgetMails(transaction, gone),
        invitations: await forgetInvitations(transaction, gone),
        errors: await errors.forgetMentions(transaction, addresses),
      };
    },
    noticesChanged: rescheduleWindows,
    urlOfPicture: ports.urlOfPicture,
    log: logs.of('identity'),
  });
  const auth = opened.use(
    openAuth({
      sql,
      clock,
      identity,
      billing,
      approvals: ports.approvals,
      feeds: ports.feeds,
      spending: ports.spending,
      email,
      jwtSecret: config.secrets.jwt,
      frontendUrl,
      disallowPlus: config.registration.disallowPlus,
      refusedPasswords: config.registration.refusedPasswords,
      tracesDays: config.retention.ip,
      log: logs.of('auth'),
      failed: (error) =>
        logs
          .of('auth')
          .warn({ err: error }, 'a write behind an answer failed: mails are repeated by the sweep, last uses are lost'),
    }),
  );
  const login = openFederatedLogin({
    sql,
    vault,
    providers,
    settings: providerSettings,
    identity,
    sessions: auth.sessions,
    addresses: config.http,
    fallbacks: environmentLogins(config),
  });
  const members = openMembers({ sql, billing, email, frontendUrl });
  const organizations = opened.use(
    openOrganizations({
      sql,
      clock,
      log: logs.of('organizations'),
      mostOwned: config.registration.organizationsPerOwner,
      billing,
      providers,
      ...ports.endings,
    }),
  );
  const live = opened.use(openLive({ sql, cache, clock, log: logs.of('notifications') }));
  const notices = {
    sql,
    email,
    push,
    identity,
    live,
    tokens: auth.tokens,
    frontendUrl,
    backendUrl: config.http.backendUrl,
    retentionDays: config.retention.notifications,
    log: logs.of('notifications'),
  };
  const notifications = openNotifications(notices);
  return wing(opened, {
    rooms: { identity, auth, login, members, organizations, notifications },
    listeners: [notificationsListener(notices)],
    gauges: [
      {
        name: 'notification_streams',
        help: 'Pages that follow notifications by this process.',
        read: () => live.count(),
      },
    ],
    sweeps: [
      { name: 'provider-logins', everyMs: 15 * MINUTE, run: (limit) => login.dropOld(limit) },
      // a mail that the process asked for it did not write
      { name: 'requested-mails', everyMs: MINUTE, run: (limit) => auth.sweepRequested(limit) },
      { name: 'one-time-codes', everyMs: HOUR, run: (limit) => auth.dropExpiredCodes(limit) },
      { name: 'pending-users', everyMs: HOUR, run: (limit) => auth.dropPending(limit) },
      { name: 'sessions', everyMs: HOUR, run: (limit) => auth.sessions.dropEnded(limit) },
      { name: 'invitations', everyMs: HOUR, run: (limit) => members.invitations.dropOld(limit) },
      { name: 'traces', everyMs: HOUR, run: (limit) => auth.forgetTraces(limit) },
      { name: 'organizations', everyMs: HOUR, run: (limit) => organizations.dropRemoved(limit) },
      { name: 'notification-windows', everyMs: MINUTE, run: (limit) => notifications.closeDueWindows(limit) },
      { name: 'notifications', everyMs: HOUR, run: (limit) => notifications.dropOldNotifications(limit) },
      { name: 'users', everyMs: HOUR, run: (limit) => identity.dropRemoved(limit) },
    ],
  });
}
