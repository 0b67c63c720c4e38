import { z } from 'zod';
import type { Database } from '../../../../src/platform/db/index.ts';
import { type Kind, TELLERS } from '../../peers/mail-events.ts';
import { eventually } from '../../wire/eventually.ts';
import { startReceiver } from '../../wire/receiver.ts';
import type { History } from '../history/shape.ts';
import { insist, sendOnce } from './insist.ts';

// A provider of mail: takes each mail of the product once, and tells what became of it in events that come in any order,
// are repeated, and are sent again until they are taken.

/** Events of this many mails, and of as many that come while others are told of. */
const EACH = 6;
/** What is told of a mail, one after another. */
const ORDERS: readonly (readonly Kind[])[] = [
  ['opened', 'delivered', 'sent', 'opened'],
  ['clicked', 'sent', 'delivered', 'clicked', 'opened'],
  ['delivered', 'sent', 'delivered'],
  ['bounced', 'delivered', 'bounced', 'opened'],
  ['sent', 'opened', 'complained', 'clicked'],
];
/** One mail of so many is told of before the call that sent it is answered. */
const TOLD_FIRST = 3;
const CODE_MS = 60_000;

const Taken = z.object({
  to: z.tuple([z.string()]),
  text: z.string(),
  tags: z.tuple([z.object({ name: z.literal('mail_id'), value: z.string() })]),
});
interface Mail {
  id: string;
  messageId: string;
  to: string;
  text: string;
  /** What was told of it and taken. */
  told: Kind[];
}

export async function startMailProvider() {
  const teller = TELLERS.resend();
  const mails = new Map<string, Mail>();
  const underWay: Promise<void>[] = [];
  let address: string | undefined;
  let left = 0;
  const signed = ({ messageId, id }: Mail, kind: Kind) => teller.tell({ kind, messageId, id });

  async function tellOf(mail: Mail, n: number): Promise<void> {
    for (const kind of ORDERS[n % ORDERS.length]!)
      await insist(
        address!,
        () => signed(mail, kind),
        ({ status }) => status < 300 && status > 0 && mail.told.push(kind),
      );
  }
  async function take(body: string): Promise<Mail> {
    const { to, text, tags } = Taken.parse(JSON.parse(body));
    const id = tags[0].value;
    const known = mails.get(id);
    if (known) return known; // an attempt of which it does not know what became
    const mail: Mail = { id, messageId: `there-${id}`, to: to[0], text, told: [] };
    mails.set(id, mail);
    if (address !== undefined && left > 0) {
      left -= 1;
      if (left % TOLD_FIRST === 0) await sendOnce(address, signed(mail, 'sent'));
      underWay.push(tellOf(mail, left));
    }
    return mail;
  }
  const server = await startReceiver({
    answer: (response, { body }) =>
      void take(body.toString()).then(
        ({ messageId }) =>
          response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ id: messageId })),
        (error: unknown) => response.writeHead(422).end(JSON.stringify({ message: String(error) })),
      ),
  });
  return {
    url: server.url,
    env: { EMAIL_PROVIDER: 'resend', ...teller.env },
    /** The code of the activation mail to an address, once that has come. */
    async codeTo(email: string): Promise<string> {
      const find = () =>
        [...mails.values()]
          .filter(({ to }) => to === email)
          .flatMap(({ text }) => /\/auth\/activate\/(\S+)/.exec(text)?.[1] ?? [])[0];
      await eventually(`the activation mail to ${email} has come`, () => find() !== undefined, CODE_MS);
      return find()!;
    },
    /** Tells of mails that are here, and of those that come from now on. */
    begin(url: string): void {
      address = `${url}/webhooks/email`;
      const here = [...mails.values()].slice(0, EACH);
      left = EACH;
      underWay.push(...here.map((mail, n) => tellOf(mail, n)));
    },
    /** Ends when all that was begun is taken. */
    async end(): Promise<void> {
      left = 0;
      await Promise.all(underWay);
    },
    async read(sql: Database): Promise<History['mails']> {
      const seen = await sql<{ id: string; seen: string[] }[]>`
        select id, array_agg(status order by n) as seen from recorder.mail_statuses group by id`;
      const told = (id: string) => mails.get(id)?.told ?? [];
      return seen.map((row) => ({ ...row, told: told(row.id) }));
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Has the database note each status of each mail, in the order in which they were written. */
export async function recordMails(sql: Database): Promise<void> {
  await sql.unsafe(`
    create schema recorder;
    create table recorder.mail_statuses (n bigserial, id uuid, status text);
    create function recorder.note_mail_status() returns trigger language plpgsql as $$
      begin
        insert into recorder.mail_statuses (id, status) values (new.id, new.status);
        return new;
      end
    $$;
    create trigger note_mail_status after insert or update of status on emails
      for each row execute function recorder.note_mail_status()`);
}
