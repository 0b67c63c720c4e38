/** A billing month: from `start`, and up to but without `end`. */
export interface Month {
  start: Date;
  end: Date;
}

/**
 * `n` months after `anchor`, at the same time of day; on a day that the month does not have, its last one. Counted in
 * UTC, as the payment processor does: an instant begins the month, so no change of the org's time zone moves it or
 * makes one month longer.
 */
function monthsAfter(anchor: Date, n: number): Date {
  const moved = new Date(anchor);
  moved.setUTCDate(1);
  moved.setUTCMonth(anchor.getUTCMonth() + n);
  const days = new Date(Date.UTC(moved.getUTCFullYear(), moved.getUTCMonth() + 1, 0)).getUTCDate();
  moved.setUTCDate(Math.min(anchor.getUTCDate(), days));
  return moved;
}

/**
 * The billing month that `now` lies in (LM13). Always reckoned from the anchor, so that a short month does not move the
 * ones after it.
 */
export function monthOf(anchor: Date, now: Date): Month {
  let n = (now.getUTCFullYear() - anchor.getUTCFullYear()) * 12 + now.getUTCMonth() - anchor.getUTCMonth();
  if (monthsAfter(anchor, n) > now) n -= 1;
  return { start: monthsAfter(anchor, n), end: monthsAfter(anchor, n + 1) };
}
