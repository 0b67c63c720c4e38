import { z } from 'zod';
import { EMAIL_STATUSES, type EmailRow } from '../../../src/delivery/email/index.ts';
import { instant } from '../../http/fields.ts';

export const Email = z.strictObject({
  id: z.string(),
  orgId: z.string().nullable(),
  to: z.string(),
  template: z.string(),
  status: z.enum(EMAIL_STATUSES),
  providerId: z.string(),
  providerVersion: z.string(),
  providerMessageId: z.string().nullable(),
  attempts: z.int(),
  nextAttemptAt: instant.nullable(),
  lastError: z.string().nullable(),
  createdAt: instant,
  sentAt: instant.nullable(),
});

/** A line of the mail log (S213). What a mail said is not in the row. */
export const presentEmail = ({ createdAt, sentAt, nextAttemptAt, ...row }: EmailRow): z.input<typeof Email> => ({
  ...row,
  nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
  createdAt: createdAt.toISOString(),
  sentAt: sentAt?.toISOString() ?? null,
});
