import { expect, test } from '@jest/globals';
import { systemClock } from '../../platform/kernel/index.ts';
import type { EmailAdapter } from './_contract.ts';
import mailgun from './mailgun.v1.ts';
import postmark from './postmark.v1.ts';
import resend from './resend.v1.ts';
import sendgrid from './sendgrid.v1.ts';
import ses from './ses.v1.ts';
import smtp from './smtp.v1.ts';

const LINK = 'https://app.example.com/notifications/unsubscribe?token=a.b.c';

/** What an adapter hands over to be sent, as text. */
async function sentBy(adapter: EmailAdapter, unsubscribe: string | undefined): Promise<string> {
  let sent: unknown;
  const values = new Proxy({ region: 'eu-west-1' } as Record<string, string>, {
    get: (given, name: string) => given[name] ?? 'x@example.com',
  });
  const line = {
    values,
    base: 'https://mail.example',
    clock: systemClock,
    http: { post: async (_: string, __: unknown, call: unknown) => void (sent = call) },
    smtp: () => ({ send: async (mail: unknown) => void (sent = mail), close: () => undefined }),
  };
  const mailer = adapter.connect!(line as never); // the tools that these adapters use
  await mailer.send({ id: 'id', to: 'ann@example.com', subject: 's', text: 't', html: 'h', unsubscribe });
  return JSON.stringify(sent);
}

test.each([mailgun, postmark, resend, sendgrid, ses, smtp].map((adapter) => [adapter.id, adapter] as const))(
  '%s hands over the headers by which mailboxes unsubscribe, where the mail has them [S181]',
  async (_, adapter) => {
    const mail = await sentBy(adapter, LINK);
    expect(mail).toMatch(
      /List-Unsubscribe"[^}]*<https:\/\/app\.example\.com\/notifications\/unsubscribe\?token=a\.b\.c>/,
    );
    expect(mail).toMatch(/List-Unsubscribe-Post"[^}]*List-Unsubscribe=One-Click/);
    expect(mail).toContain('auto-generated');
    expect(await sentBy(adapter, undefined)).not.toContain('Unsubscribe');
  },
);
