import type { EmailRow } from './store.ts';

/** A line of the mail log (S213). What a mail said is not in the row. */
export const presentEmail = ({ createdAt, sentAt, nextAttemptAt, ...row }: EmailRow) => ({
  ...row,
  nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
  createdAt: createdAt.toISOString(),
  sentAt: sentAt?.toISOString() ?? null,
});
