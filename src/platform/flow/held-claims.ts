import type { Clock } from '../kernel/index.ts';
import { atMost } from './deadline.ts';

interface Claim {
  id: string;
  /** Counts the claims of this row: another one has another number. */
  claim: number;
}

/** Rows that this process has claimed and works on. Their claims are prolonged meanwhile. */
export interface HeldClaims<C extends Claim> extends Disposable {
  /**
   * `since`: by the monotonic clock, before the claim was asked for. Answers what is aborted when the claim is lost, or
   * could not be prolonged for a whole lease.
   */
  take(claim: C, since?: number): AbortController;
  /** Nobody here works on it any more. */
  drop(claim: Claim): void;
  all(): C[];
  abort(which: (claim: C) => boolean, why: string): void;
}

/** Holds claims; `renew` prolongs them for a lease and answers the ids of those that this process still has. */
export function holdClaims<C extends Claim>({
  clock,
  leaseMs,
  renew,
  onRenewError,
}: {
  clock: Clock;
  leaseMs: number;
  renew(claims: readonly C[]): Promise<ReadonlySet<string>>;
  onRenewError(error: unknown, claims: number): void;
}): HeldClaims<C> {
  const held = new Map<string, { claim: C; over: AbortController; since: number }>();
  const find = ({ id, claim }: Claim) => {
    const one = held.get(id);
    return one?.claim.claim === claim ? one : undefined;
  };

  async function renewOld(): Promise<void> {
    const now = clock.monotonic();
    const old = [...held.values()].filter(({ since }) => now - since > leaseMs / 3);
    if (old.length === 0) return;
    try {
      let still: ReadonlySet<string> = new Set();
      // a question without an answer, as of a locked row, is one that failed: the leases go on meanwhile
      const isAnswered = await atMost(clock, leaseMs / 3, async () => {
        still = await renew(old.map(({ claim }) => claim));
      });
      if (!isAnswered) throw new Error('The renewal of claims was not answered');
      for (const one of old)
        if (still.has(one.claim.id)) one.since = now;
        else one.over.abort(new Error('The claim is no longer of this process'));
    } catch (error) {
      onRenewError(error, old.length);
      for (const { over, since } of old)
        if (clock.monotonic() - since > leaseMs) over.abort(new Error('The claim has run out'));
    }
  }
  const renewal = clock.every(leaseMs / 6, () => void renewOld());

  return {
    take(claim, since = clock.monotonic()) {
      const over = new AbortController();
      held.set(claim.id, { claim, over, since }); // a former one's lease ended before its work did
      return over;
    },
    drop(claim) {
      if (find(claim)) held.delete(claim.id);
    },
    all: () => [...held.values()].map(({ claim }) => claim),
    abort(which, why) {
      for (const { claim, over } of held.values()) if (which(claim)) over.abort(new Error(why));
    },
    [Symbol.dispose]: () => renewal[Symbol.dispose](),
  };
}
