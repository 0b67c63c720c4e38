import type { Database } from '../../platform/db/index.ts';
import { type Clock, ProviderError, type Vault } from '../../platform/kernel/index.ts';
import { startWorker } from '../../platform/flow/index.ts';
import type { Site } from './layout.ts';
import { MailContent } from './templates.ts';
import { FIRST_OWNER, lastServedOwner, mailRetryInMs, reasonOf } from './rules.ts';
import type { MailTransport } from './mail-transport.ts';
import { type ClaimedMail, claimDueMail, markBounced, markMailSent, retryLater, type Sent } from './store.ts';
import { render } from './texts.ts';

export interface SenderLog {
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
}
export interface SenderEvents {
  mailAttempted(of: {
    emailId: string;
    template: string;
    attempt: number;
    outcome: 'sent' | 'retried' | 'bounced';
    reason: string | null;
  }): void;
}
export interface MailSenderOptions {
  sql: Database;
  clock: Clock;
  vault: Vault;
  /** By what mail leaves now. */
  transport: () => Promise<MailTransport>;
  site: Site;
  log: SenderLog;
  events: SenderEvents;
  /** A mail whose sender is not heard of for so long may be sent by another; longer than any attempt takes. */
  leaseSeconds?: number;
  /** Between two looks at an empty queue. */
  restMs?: number;
}

const CONCURRENCY = 4;

/**
 * Sends what is due. At least once: a process that dies after the server took a mail and before that is written down
 * leaves it to be sent again, under the same Message-ID.
 */
export function startSender({
  sql,
  clock,
  vault,
  transport,
  site,
  log,
  events,
  leaseSeconds = 120,
  restMs = 1_000,
}: MailSenderOptions): AsyncDisposable {
  async function attempt(mail: ClaimedMail): Promise<void> {
    const { id, to, template, attempts } = mail;
    const tell = (outcome: 'sent' | 'retried' | 'bounced', reason: string | null) =>
      events.mailAttempted({ emailId: id, template, attempt: attempts, outcome, reason });
    let sent: Sent;
    try {
      const { mailer, providerId, providerVersion } = await transport();
      const { messageId } = await mailer.send({
        id,
        to,
        ...render(MailContent.parse(JSON.parse(vault.open(mail.content))), site),
      });
      sent = { messageId, providerId, providerVersion };
    } catch (error) {
      const reason = reasonOf(
        error instanceof ProviderError ? error.message : `This mail could not be sent: ${String(error)}`,
      );
      const refusal: Partial<ProviderError> = error instanceof ProviderError ? error : {};
      const { failure, retryAfterMs = 0 } = refusal;
      const waitMs = failure === 'rejected' ? null : mailRetryInMs(attempts);
      const inMs = waitMs === null ? null : Math.max(waitMs, retryAfterMs);
      await (inMs === null
        ? markBounced(sql, mail, { reason, isAddressBad: refusal.reason === 'bad_address' })
        : retryLater(sql, mail, { inMs, reason }));
      return tell(inMs === null ? 'bounced' : 'retried', reason);
    }
    await markMailSent(sql, id, sent);
    tell('sent', null);
  }

  let after = FIRST_OWNER;
  async function claim(limit: number): Promise<readonly ClaimedMail[]> {
    const mails = await claimDueMail(sql, { limit, leaseSeconds, after });
    const notices = mails.filter(({ template }) => template === 'notification');
    after = lastServedOwner(
      after,
      notices.map(({ owner }) => owner),
    );
    return mails;
  }

  return startWorker({
    clock,
    concurrency: CONCURRENCY,
    restMs,
    claim,
    work: attempt,
    onWorkError: (error, mail) =>
      log.warn(
        { emailId: mail.id, err: error },
        'recording the outcome of a mail failed, sent again when its lease ends',
      ),
    onClaimError: (error) => log.error({ err: error }, 'claiming due mails failed, repeated'),
  });
}
