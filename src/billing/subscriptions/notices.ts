import type { Sql } from '../../platform/db/index.ts';
import type { Email, MailContent } from '../../delivery/email/index.ts';
import { newId } from '../../platform/kernel/index.ts';
import type { Notifications } from '../../people/notifications/index.ts';
import { GRACE_DAYS, NOTICE_DAYS } from './subscription-rules.ts';
import * as store from './subscription-store.ts';

export interface NoticesNeeds {
  email: Email;
  /** Public address of the application. */
  frontendUrl: string;
  /** System roles that may manage what an org pays. */
  payingRoles: readonly string[];
  notifications: Pick<Notifications, 'tellHolders'>;
}

/** Shows billing notices and queues their mails in the caller's transaction, for members who may manage billing. */
export interface Notices {
  /** Starts the grace period with its first notice; undefined when it runs already. */
  startGrace(sql: Sql, orgId: string): Promise<Date | undefined>;
  owing(sql: Sql, orgId: string, graceEndsAt: Date): Promise<void>;
  lapsed(sql: Sql, orgId: string): Promise<void>;
  cardRefused(sql: Sql, orgId: string): Promise<void>;
}

const FAILED = (graceEndsAt: Date) => ({
  title: 'The payment has failed',
  content: `Everything goes on until ${graceEndsAt.toISOString().slice(0, 10)}; from then on queued posts are paused and API keys refused until it is paid.`,
});
const LAPSED = {
  title: 'The subscription is suspended',
  content: 'Queued posts are paused and API keys refused. All of it goes on once it is paid.',
};
const CARD_REFUSED = {
  title: 'The card was refused',
  content: 'It could not be verified, so the trial has ended.',
};

export function openNotices({ email, frontendUrl, payingRoles, notifications }: NoticesNeeds): Notices {
  const url = `${frontendUrl.replace(/\/$/, '')}/billing`;

  /** To everybody who may manage billing, whatever else they want to hear of (S221). */
  async function tell(
    sql: Sql,
    orgId: string,
    shown: { title: string; content: string },
    letterFor: (orgName: string) => MailContent,
  ): Promise<void> {
    const { name } = await store.nameOf(sql, orgId);
    await notifications.tellHolders(sql, 'billing:manage', {
      ...shown,
      orgId,
      source: `billing ${newId()}`,
      category: 'ai_budget', // the interface names no other for money
      link: { path: '/billing', permission: 'billing:manage' },
    });
    for (const { email: to } of await store.payersOf(sql, orgId, payingRoles, 'billing:manage'))
      await email.queue(sql, { to, orgId, content: letterFor(name) });
  }
  const owing: Notices['owing'] = (sql, orgId, graceEndsAt) =>
    tell(sql, orgId, FAILED(graceEndsAt), (orgName) => ({
      template: 'payment-failed',
      data: { orgName, url, graceEndsAt: graceEndsAt.toISOString() },
    }));

  return {
    owing,
    async startGrace(sql, orgId) {
      const end = await store.startGrace(sql, orgId, GRACE_DAYS, NOTICE_DAYS[1]);
      if (end) await owing(sql, orgId, end);
      return end;
    },
    lapsed: (sql, orgId) =>
      tell(sql, orgId, LAPSED, (orgName) => ({ template: 'subscription-lapsed', data: { orgName, url } })),
    cardRefused: (sql, orgId) =>
      tell(sql, orgId, CARD_REFUSED, (orgName) => ({ template: 'card-refused', data: { orgName, url } })),
  };
}
