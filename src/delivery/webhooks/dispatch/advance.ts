import { groupCommit, type Sql } from '../../../platform/db/index.ts';
import { type AdvancedRow, type AdvanceOptions, advanceWebhooks, type Step } from './advance-store.ts';

/** One delivery of one webhook, claimed for one attempt. */
export interface ClaimedDelivery {
  deliveryId: string;
  attempt: number;
  /** Its attempts when it was queued again: three more are made. */
  replayedFrom: number;
  event: string;
  seq: number;
  body: string;
  url: string;
  optIn: boolean;
  secret: string | null;
  previousSecrets: readonly string[];
}
/** `held`: another host is at work on this webhook, or it is gone. */
export type NextDelivery =
  | { kind: 'claimed'; delivery: ClaimedDelivery }
  | { kind: 'early'; missingMs: number }
  | { kind: 'idle' }
  | { kind: 'held' };

/** The only door to a delivery, for all webhooks of this process that move now. Repeating a step has one effect. */
export const openAdvance = (host: AdvanceOptions) =>
  groupCommit(
    async (sql: Sql, steps: readonly Step[]): Promise<NextDelivery[]> => {
      const rows = new Map((await advanceWebhooks(sql, host, steps)).map((row) => [row.n, row]));
      return steps.map((_, n) => nextOf(rows.get(n + 1)));
    },
    { max: 100 },
  ); // results meet their rows by number, each with each

function nextOf(row: AdvancedRow | undefined): NextDelivery {
  if (!row?.mine) return { kind: 'held' };
  const { deliveryId, attempt, replayedFrom, event, seq, body, url, optIn, secret, previousSecrets } = row;
  if (deliveryId !== null)
    return {
      kind: 'claimed',
      delivery: {
        deliveryId,
        attempt,
        replayedFrom,
        event,
        seq: Number(seq),
        body,
        url,
        optIn,
        secret,
        previousSecrets: previousSecrets ?? [],
      },
    };
  if (row.stale) return { kind: 'early', missingMs: 0 };
  return row.missingMs === null ? { kind: 'idle' } : { kind: 'early', missingMs: row.missingMs };
}
