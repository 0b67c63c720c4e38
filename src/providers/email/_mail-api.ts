import type { z } from 'zod';
import { type Fields, text } from '../kit/declare/fields.ts';
import type { Call } from '../kit/wire/http.ts';
import { oneLine } from '../kit/protocols/mailbox.ts';
import { type Delivery, email, type EmailAdapter, type EmailLine, type EmailSpec, type Message, type ReadReport } from './_contract.ts';

/** Who mail comes from, the same fields everywhere. */
export const FROM = {
  fromAddress: text('From address', {
    validation: '[^\\s<>"(),:;@\\[\\]\\\\]+@[^\\s<>"(),:;@\\[\\]\\\\]+',
    help: 'The address that mail comes from, on a domain that the provider has verified',
  }),
  fromName: text('From name', { required: false, default: '' }),
};
type From = typeof FROM;

/** Mails of a program, which nobody's out-of-office answers (RFC 3834). */
export const AUTOMATIC = 'auto-generated';
/** Under this name our own id of a mail goes along, and comes back with its events. */
export const OWN_ID = 'mail_id';

export interface MailApi<F extends Fields> extends Omit<EmailSpec<F & From>, 'credentials' | 'connect' | 'events'> {
  credentials: F;
  /** The call that sends; its reply yields the provider's id of the mail. */
  send(message: Message, line: EmailLine<F & From>): SendCall | Promise<SendCall>;
  sent: z.ZodType<string>;
  events: { key: Extract<keyof F, string>; open(line: EmailLine<F & From>): ReadReport };
}
type SendCall = Call & { path: string };

/** A provider that takes a mail as one call of HTTP. */
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

/** The JSON of a body; undefined when it is none. */
export function jsonOf(body: Uint8Array | string): unknown {
  try {
    return JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
}

/** What this reads as the schema; an event that it does not know is none. */
export const deliveries = (events: readonly unknown[], schema: z.ZodType<Delivery | undefined>): Delivery[] =>
  events.flatMap((event) => schema.safeParse(event).data ?? []);
