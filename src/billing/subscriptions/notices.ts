import type { Sql } from '../../platform/db/index.ts';
import type { Email, MailContent } from '../../delivery/email/index.ts';
import { GRACE_DAYS, NOTICE_DAYS } from './subscription-rules.ts';
import * as store from './subscription-store.ts';

export interface NoticesNeeds {
  email: Email;
  /** Public address of the application. */
  frontendUrl: string;
  /** System roles that may manage what an org pays. */
  payingRoles: readonly string[];
}

/** Queues billing mails in the caller's transaction, to members whose role may manage billing. */
export interface Notices {
  /** Starts the grace period with its first notice; undefined when it runs already. */
  startGrace(sql: Sql, orgId: string): Promise<Date | undefined>;
  owing(sql: Sql, orgId: string, graceEndsAt: Date): Promise<void>;
  lapsed(sql: Sql, orgId: string): Promise<void>;
  cardRefused(sql: Sql, orgId: string): Promise<void>;
}

export function openNotices({ email, frontendUrl, payingRoles }: NoticesNeeds): Notices {
  const url = `${frontendUrl.replace(/\/$/, '')}/billing`;

  /** To everybody who may manage billing, whatever else they want to hear of (S221). */
  async function tell(sql: Sql, orgId: string, letterFor: (orgName: string) => MailContent): Promise<void> {
    const { name } = await store.nameOf(sql, orgId);
    for (const { email: to } of await store.payersOf(sql, orgId, payingRoles, 'billing:manage'))
      await email.queue(sql, { to, orgId, content: letterFor(name) });
  }
  const owing: Notices['owing'] = (sql, orgId, graceEndsAt) =>
    tell(sql, orgId, (orgName) => ({
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
      tell(sql, orgId, (orgName) => ({ template: 'subscription-lapsed', data: { orgName, url } })),
    cardRefused: (sql, orgId) => tell(sql, orgId, (orgName) => ({ template: 'card-refused', data: { orgName, url } })),
  };
}
