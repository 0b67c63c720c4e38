import type { Adapter, Manifest } from '../kit/declare/adapter.ts';
import type { Fields } from '../kit/declare/fields.ts';
import type { Line } from '../kit/declare/line.ts';

/**
 * One mail to one person. `id` is ours and the same on every attempt: a Message-ID, an idempotency key or a tag, as the
 * provider supports it.
 */
export interface Message {
  id: string;
  to: string;
  subject: string;
  text: string;
  html: string;
  /** An address that takes the reader off by one POST (RFC 8058); absent in mails that nobody can refuse. */
  unsubscribe?: string | undefined;
}

/**
 * A mail provider with its settings. `send` answers the provider's id of the mail and throws `ProviderError`:
 * `rejected` is final (for this address or content), any other failure may be retried.
 */
export interface Mailer {
  send(message: Message): Promise<{ messageId: string }>;
  close(): void;
}

/** A request with delivery events, as received. Header names are in lower case. */
export interface EventRequest {
  headers: Readonly<Record<string, string | undefined>>;
  body: Uint8Array;
}
/**
 * The status of a mail. `messageId` is the provider's id as `send` answered it; `id` is ours, where the provider
 * repeats it.
 */
export interface Delivery {
  messageId: string;
  id?: string | undefined;
  status: 'sent' | 'delivered' | 'bounced' | 'complained' | 'opened' | 'clicked';
  reason?: string | undefined;
  /**
   * Of a mail that bounced: the address takes no mail, whoever writes and whatever is written. Absent for what passes,
   * and for what an operator can correct.
   */
  isAddressBad?: boolean | undefined;
}
export interface Report {
  deliveries: readonly Delivery[];
  /** A token that the provider signed in place of the body: it may be accepted once. */
  token?: string;
}
/** Reads a request; undefined when it is not genuine or not recent. */
export type ReadReport = (request: EventRequest) => Promise<Report | undefined>;

export type EmailLine<F extends Fields = Fields> = Line<'http' | 'fetch' | 'smtp', F>;

export interface EmailSpec<F extends Fields> extends Manifest<F> {
  /** Absent where no mail is sent. */
  connect?: (line: EmailLine<F>) => Mailer;
  /** Absent where the provider sends no delivery events. Without a value of the field `key` every event is refused. */
  events?: { key: Extract<keyof F, string>; open(line: EmailLine<F>): ReadReport };
  check?(line: EmailLine<F>): Promise<string | void>;
}
export type EmailAdapter<F extends Fields = Fields> = EmailSpec<F> & Adapter<'email', object, EmailLine<F>, F>;

/** Declares a mail provider; its settings belong to the whole instance. */
export const email = <const F extends Fields>(spec: EmailSpec<F>): EmailAdapter => {
  const adapter: EmailAdapter<F> = {
    ...spec,
    domain: 'email',
    facts: {},
    capabilities: [...(spec.connect ? ['send'] : []), ...(spec.events ? ['events'] : [])],
    ...(spec.connect && { setup: { fields: spec.credentials, owners: ['instance'] } }),
  };
  return adapter as unknown as EmailAdapter; // the registry checks values against the fields
};
