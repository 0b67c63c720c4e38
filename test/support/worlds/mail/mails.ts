import type { Database } from '../../../../src/platform/db/index.ts';
import { MailContent } from '../../../../src/delivery/email/index.ts';
import type { Vault } from '../../../../src/platform/kernel/index.ts';

/** The mails that wait to be sent, oldest first, to one address when given. */
export async function mailsOf(
  { sql, vault }: { sql: Database; vault: Vault },
  to?: string,
): Promise<{ to: string; orgId: string | null; content: MailContent }[]> {
  const rows = await sql<{ to: string; orgId: string | null; content: string }[]>`
    select to_address as "to", org_id as "orgId", content
    from emails
    where status = 'queued' ${to === undefined ? sql`` : sql`and to_address = ${to}`}
    order by id`;
  return rows.map(({ content, ...mail }) => ({ ...mail, content: MailContent.parse(JSON.parse(vault.open(content))) }));
}
