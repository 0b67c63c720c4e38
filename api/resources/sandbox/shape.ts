import { z } from 'zod';
import type { LedgerRow } from '../../../src/operations/sandbox/index.ts';

const Item = z.object({
  seq: z.int(),
  at: z.string(),
  postId: z.string().nullable(),
  step: z.enum(['publish', 'reply', 'comment', 'repost']),
  text: z.string(),
  media: z.array(z.unknown()),
  idempotencyKey: z.string().nullable(),
  accepted: z.boolean(),
});
export const LedgerPage = z.object({ items: z.array(Item), nextCursor: z.string().nullable() });

/** A page of the sandbox's ledger (S243); `nextCursor` is null when it holds all there is. */
export const presentLedger = ({
  rows,
  limit,
}: {
  rows: readonly LedgerRow[];
  limit: number;
}): z.input<typeof LedgerPage> => ({
  items: rows.map(({ seq, at, postId, step, text, media, idempotencyKey, accepted }) => ({
    seq: Number(seq),
    at: at.toISOString(),
    postId,
    step,
    text,
    media: Array.isArray(media) ? (media as unknown[]) : [],
    idempotencyKey,
    accepted,
  })),
  nextCursor: rows.length === limit ? (rows.at(-1)?.seq ?? null) : null,
});
