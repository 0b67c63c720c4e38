import type { LedgerRow } from './store.ts';

/** A page of the sandbox's ledger (S243); `nextCursor` is null when it holds all there is. */
export const presentLedger = ({ rows, limit }: { rows: readonly LedgerRow[]; limit: number }) => ({
  items: rows.map(({ seq, at, postId, text, media, idempotencyKey, accepted }) => ({
    seq: Number(seq),
    at: at.toISOString(),
    postId,
    text,
    media: Array.isArray(media) ? (media as unknown[]) : [],
    idempotencyKey,
    accepted,
  })),
  nextCursor: rows.length === limit ? (rows.at(-1)?.seq ?? null) : null,
});
