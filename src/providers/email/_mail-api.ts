import type { z } from 'zod';
import { type Fields, text } from '../kit/declare/fields.ts';
import type { Call } from '../kit/wire/http.ts';
import { oneLine } from '../kit/protocols/mailbox.ts';
import {
  type Delivery,
  email,
  type EmailAdapter,
  type EmailLine,
  type EmailSpec,
  type Message,
  type ReadReport,
} from './_contract.ts';

/** The sender, the same fields for every provider. */
export const FROM = {
  fromAddress: text('From address', {
    validation: '[^\\s<>"(),:;@\\[\\]\\\\]+@[^\\s<>"(),:;@\\[\\]\\\\]+',
    help: 'The address that mail comes from, on a domain that the provider has verified',
  }),
  fromName: text('From name', { required: false, default: '' }),
};
type From = typeof FROM;

/** Marks mails as automatic, so that no out-of-office reply answers them (RFC 3834). */
const AUTOMATIC = 'auto-generated';

/** Headers that every provider is given beside those of its own. */
export const headersOf = ({ unsubscribe }: Pick<Message, 'unsubscribe'>): Readonly<Record<string, string>> => ({
  'Auto-Submitted': AUTOMATIC,
  ...(unsubscribe !== undefined && {
    'List-Unsubscribe': `<${unsubscribe}>`,
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click', // RFC 8058
  }),
});
/** The tag that carries our id of a mail, and comes back with its events. */
export const OWN_ID = 'mail_id';

export interface MailApi<F extends Fields> extends Omit<EmailSpec<F & From>, 'credentials' | 'connect' | 'events'> {
  credentials: F;
  /** Makes the call that sends; its reply holds the provider's id of the mail. */
  send(message: Message, line: EmailLine<F & From>): SendCall | Promise<SendCall>;
  sent: z.ZodType<string>;
  events: { key: Extract<keyof F, string>; open(line: EmailLine<F & From>): ReadReport };
}
type SendCall = Call & { path: string };

/** Declares a provider that accepts a mail by one HTTP call. */
export const mailApi = <const F extends Fields>({ credentials, send, sent, ...brand }: MailApi<F>): EmailAdapter =>
  email<F & From>({
    ...(brand as Omit<typeof brand, 'events'>),
    events: brand.events,
    credentials: { ...credentials, ...FROM },
    connect: (line) => ({
      async send(message) {
        const { path, ...call } = await send({ ...message, subject: oneLine(message.subject) }, line);
        return { messageId: await line.http.post(path, sent, { ...call, creates: true }) };
      },
      close: () => undefined,
    }),
  });

/** Parses JSON; undefined when the body is not JSON. */
export function jsonOf(body: Uint8Array | string): unknown {
  try {
    return JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
}

/** Reads the events that the schema knows; others are left out. */
export const deliveries = (events: readonly unknown[], schema: z.ZodType<Delivery | undefined>): Delivery[] =>
  events.flatMap((event) => schema.safeParse(event).data ?? []);
