import type { Mailer, ReadReport } from '../../providers/registry/index.ts';

/**
 * By what mail leaves: a provider, pinned to a version, ready to send, and ready to read what it tells of deliveries.
 */
export interface MailTransport {
  providerId: string;
  providerVersion: string;
  mailer: Mailer;
  /** Undefined: it tells nothing. */
  reports?: ReadReport | undefined;
}
