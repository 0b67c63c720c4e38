import type { Database } from '../../platform/db/index.ts';
import { AppError, isId, notFound, sha256 } from '../../platform/kernel/index.ts';
import type { Delivery, EventRequest } from '../../providers/registry/index.ts';
import { advance, isProvedBy, type Moved } from './delivery-store.ts';
import { reasonOf } from './rules.ts';
import type { MailTransport } from './mail-transport.ts';

export interface DeliveryEvents {
  mailTold(of: { emailId: string; status: Delivery['status'] }): void;
}
interface Needs {
  sql: Database;
  events: DeliveryEvents;
}

const notProved = () =>
  new AppError('unauthenticated', 'Nothing proves that this comes from the provider of mail, or it is too old');

/** What the log can hold of an event; undefined where no mail can be meant. */
function cleaned({ messageId, id, status, reason, isAddressBad }: Delivery): Delivery | undefined {
  if (!/^[\x21-\x7e]{1,500}$/.test(messageId)) return undefined;
  const isBad = status === 'bounced' || status === 'complained';
  return {
    messageId,
    status,
    ...(id !== undefined && isId(id) && { id }),
    ...(status === 'bounced' && { isAddressBad: isAddressBad ?? false }),
    ...(isBad && reason !== undefined && { reason: reasonOf(reason) }),
  };
}

/**
 * Takes what the provider of mail tells (S172): 404 where none tells anything, 401 for what is not proved. Everything
 * else is taken, known or not, so that it is not sent again. Told twice, or in any order, it has the same effect once.
 */
export async function receive(
  { sql, events }: Needs,
  transport: MailTransport | undefined,
  told: EventRequest,
): Promise<void> {
  if (!transport?.reports) throw notFound();
  const report = await transport.reports(told);
  if (!report) throw notProved();
  const { token } = report;
  const deliveries = report.deliveries.flatMap((delivery) => cleaned(delivery) ?? []);
  const moved = await sql.begin(async (tx): Promise<readonly Moved[]> => {
    if (token !== undefined && !(await isProvedBy(tx, sha256(token), sha256(told.body)))) throw notProved();
    return deliveries.length === 0 ? [] : await advance(tx, transport.providerId, deliveries);
  });
  for (const { id, status } of moved) events.mailTold({ emailId: id, status });
}
