import type { Database, Sql } from '../../platform/db/index.ts';
import {
  type Clock,
  invalidField,
  isId,
  newId,
  type RowPage,
  pageOf,
  type Vault,
} from '../../platform/kernel/index.ts';
import type { EventRequest } from '../../providers/registry/index.ts';
import { type DeliveryEvents, receive } from './deliveries.ts';
import { dropOldEventTokens } from './delivery-store.ts';
import type { Site } from './layout.ts';
import type { MailTransport } from './mail-transport.ts';
import type { Email } from './port.ts';
import { type SenderEvents, type SenderLog, startSender } from './sender.ts';
import { isPlaceholder } from './rules.ts';
import * as store from './store.ts';

export interface EmailOptions {
  sql: Database;
  clock: Clock;
  vault: Vault;
  /** Undefined: no mail. */
  transport: MailTransport | undefined;
  /** What stands in its place now, of the same provider: operators may change it at any time. */
  override?: () => Promise<MailTransport | undefined>;
  site: Site;
  log: SenderLog;
  events: SenderEvents & DeliveryEvents;
  retentionDays: number;
}

export interface EmailRoom extends Email {
  /** Sends what is queued until it is disposed of; any number of processes may. Undefined without mail. */
  startSender(options?: { leaseSeconds?: number; restMs?: number }): AsyncDisposable | undefined;
  /** An event of the provider: 404 where it tells of none, 401 for what does not prove to come from it (S172). */
  receive(told: EventRequest): Promise<void>;
  /** The log of the whole instance, newest first. */
  list(page: {
    status?: store.EmailStatus | undefined;
    limit: number;
    cursor?: string | undefined;
  }): Promise<RowPage<store.EmailRow>>;
  /** Forgets the mails to people who are erased, up to when they left. */
  forgetMails(transaction: Sql, people: readonly { email: string; deletedAt: Date }[]): Promise<number>;
  /** Forgets mails older than EMAIL_LOG_RETENTION_DAYS, at most `limit`; answers how many. */
  dropOld(limit: number): Promise<number>;
}

export function openEmail({
  sql,
  clock,
  vault,
  transport,
  override,
  site,
  log,
  events,
  retentionDays,
}: EmailOptions): EmailRoom {
  const current = async (first: MailTransport): Promise<MailTransport> => (await override?.()) ?? first;
  const queueAll: Email['queueAll'] = async (transaction, mails) => {
    const mailable = mails.filter(({ to }) => !isPlaceholder(to));
    if (!transport || mailable.length === 0) return;
    const { providerId, providerVersion } = transport;
    const rows = mailable.map(({ to, orgId, content }) => ({
      id: newId(),
      orgId,
      to,
      template: content.template,
      content: vault.seal(JSON.stringify(content)),
    }));
    await store.insertEmails(transaction, rows, { providerId, providerVersion });
  };
  return {
    enabled: transport !== undefined,
    queue: (transaction, mail) => queueAll(transaction, [mail]),
    queueAll,

    startSender: (options = {}) =>
      transport &&
      startSender({ sql, clock, vault, transport: () => current(transport), site, log, events, ...options }),
    receive: async (told) => receive({ sql, events }, transport && (await current(transport)), told),

    async list({ status, limit, cursor }) {
      if (cursor !== undefined && !isId(cursor))
        throw invalidField('cursor', 'take it from the page before', 'invalid_format');
      const rows = await store.listEmails(sql, { status, before: cursor, limit: limit + 1 });
      return pageOf(rows, limit);
    },

    forgetMails: async (transaction, people) =>
      people.length > 0 ? (await store.dropMailsOf(transaction, people)).count : 0,
    dropOld: async (limit) =>
      Math.max(await store.oldEmails.drop(sql, retentionDays, limit), await dropOldEventTokens(sql, limit)),
  };
}
