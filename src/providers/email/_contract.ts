import type { Adapter, Manifest } from '../kit/declare/adapter.ts';
import type { Fields } from '../kit/declare/fields.ts';
import type { Line } from '../kit/declare/line.ts';

/** One mail to one person. `id` is ours, the same on every attempt: a Message-ID, an idempotency key or a tag, as the provider has it. */
export interface Message {
  id: string;
  to: string;
  subject: string;
  text: string;
  html: string;
}

/**
 * A provider of mail, ready to send. `send` answers the provider's own id of the mail and throws `ProviderError`: `rejected` is for ever
 * (the address, or this content), everything else is worth another attempt.
 */
export interface Mailer {
  send(message: Message): Promise<{ messageId: string }>;
  close(): void;
}

/** A request that tells of deliveries, as it came. Names of headers are in lower case. */
export interface Told {
  headers: Readonly<Record<string, string | undefined>>;
  body: Uint8Array;
}
/** What became of a mail. A mail is named by the provider's own id, in the form that `send` answered, and by ours where it is repeated. */
export interface Delivery {
  messageId: string;
  id?: string | undefined;
  status: 'sent' | 'delivered' | 'bounced' | 'complained' | 'opened' | 'clicked';
  reason?: string | undefined;
}
export interface Report {
  deliveries: readonly Delivery[];
  /** What was signed in the place of the body: it proves one body, and no other. */
  token?: string;
}
/** What a request proves to come from the provider; undefined when it does not, or not from now. */
export type ReadReport = (told: Told) => Promise<Report | undefined>;

export type EmailLine<F extends Fields = Fields> = Line<'http' | 'fetch' | 'smtp', F>;

export interface EmailSpec<F extends Fields> extends Manifest<F> {
  /** Absent where no mail leaves. */
  connect?: (line: EmailLine<F>) => Mailer;
  /** Absent where the provider does not tell what became of a mail. Without a value of the field `key` nothing proves who tells. */
  events?: { key: Extract<keyof F, string>; open(line: EmailLine<F>): ReadReport };
  check?(line: EmailLine<F>): Promise<string | void>;
}
export type EmailAdapter<F extends Fields = Fields> = EmailSpec<F> & Adapter<'email', object, EmailLine<F>, F>;

/** Declares a provider of mail; the types of its own fields end here. What is to be set is set for the whole instance. */
export const email = <const F extends Fields>(spec: EmailSpec<F>): EmailAdapter => {
  const adapter: EmailAdapter<F> = {
    ...spec,
    domain: 'email',
    facts: {},
    capabilities: [...(spec.connect ? ['send'] : []), ...(spec.events ? ['events'] : [])],
    ...(spec.connect && { setup: { fields: spec.credentials, owners: ['instance'] } }),
  };
  return adapter as unknown as EmailAdapter; // values are checked against the fields before they come here
};
