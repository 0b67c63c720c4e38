import { groupBy, type History, isTaken, isUnknown, say, type Violation } from './shape.ts';

// The judge of what an organization and a deployment are left with: limits (I5), money (I8), the rows of others (I9),
// the work of people (I11), the log of mails (I12).

/** I5: at no time more posts than the limit that held then; and each counter is what its rows are. */
export function withinLimits({ posts, limits, counters }: History): Violation[] {
  const broken = say('I5');
  const violations = counters
    .filter(({ counted, rows }) => counted !== rows)
    .map(({ orgId, of, counted, rows }) => broken(`${orgId} has counted ${counted} of ${of}, and has ${rows}`));
  const roots = posts.filter(({ rootId, isGranted }) => rootId === null && isGranted);
  for (const [orgId, steps] of groupBy(limits, (step) => step.orgId)) {
    const granted = roots
      .filter((row) => row.orgId === orgId)
      .toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
    for (const [n, { id, createdAt }] of granted.entries()) {
      const max = steps.findLast(({ at }) => at <= createdAt)?.max ?? Infinity;
      if (n + 1 > max) violations.push(broken(`${id} is post ${n + 1} of ${orgId}, which may have ${max}`));
    }
  }
  return violations;
}

const SPENT = new Set(['settlement', 'correction']);
/** I8: each payment event has one effect, in any order and repeated; the entries of a ledger are its balance. */
export function moneyAddsUp({ money: { events, left, entries, balances } }: Pick<History, 'money'>): Violation[] {
  const broken = say('I8');
  const violations: Violation[] = [];
  for (const { id, answers } of events) {
    const taken = answers.filter(({ status }) => isTaken(status));
    const effects = taken.filter(({ isIgnored }) => !isIgnored).length;
    const unknown = answers.filter(({ status }) => isUnknown(status)).length;
    if (effects > 1) violations.push(broken(`the event ${id} had an effect ${effects} times`));
    if (effects === 0 && unknown === 0) violations.push(broken(`the event ${id} had no effect`));
  }
  for (const [same, accounts] of groupBy(left, (one) => one.events))
    for (const { account, left: is } of accounts.slice(1))
      if (is !== accounts[0]!.left)
        violations.push(
          broken(`${same} left ${account} with ${is}, and ${accounts[0]!.account} with ${accounts[0]!.left}`),
        );
  const sums = groupBy(entries, ({ window }) => window);
  const windows = new Map(balances.map((one) => [one.window, one]));
  for (const window of new Set([...sums.keys(), ...windows.keys()])) {
    const sum = (isOf: (kind: string) => boolean) =>
      (sums.get(window) ?? []).filter(({ kind }) => isOf(kind)).reduce((all, { micros }) => all + micros, 0);
    const [spent, reserved] = [sum((kind) => SPENT.has(kind)), sum((kind) => !SPENT.has(kind))];
    const is = windows.get(window);
    if (is?.spent !== spent || is.reserved !== reserved)
      violations.push(
        broken(`${window} has spent ${is?.spent} and reserved ${is?.reserved}, its entries ${spent} and ${reserved}`),
      );
  }
  return violations;
}

/** I9: an organization that takes no part keeps its rows as they are, and nobody else reads, changes or names them. */
export function keptApart({ canary, ledger }: History): Violation[] {
  if (!canary) return [];
  const broken = say('I9');
  const { account, before, after, named, asked } = canary;
  return [
    ...[...new Set([...Object.keys(before), ...Object.keys(after)])]
      .filter((key) => before[key] !== after[key])
      .map((key) => broken(`${key} of another organization was ${before[key]}, and is ${after[key]}`)),
    ...named.map((what) => broken(`${what} names a row of another organization`)),
    ...asked
      .filter(({ status, refusal }) => status !== refusal && !isUnknown(status))
      .map(({ what, status }) => broken(`${what} of another organization was answered with ${status}`)),
    ...ledger
      .filter((row) => row.account === account)
      .map(({ step, seq }) => broken(`a ${step} (${seq}) was sent as ${account}, which takes no part`)),
  ];
}

/** I11: once the fault is over, nobody restarts, sets or deletes anything. */
export const withoutHands = ({ hands }: History): Violation[] =>
  hands.map((one) => say('I11')(`needed a hand: ${one}`));

/** How far each status of a mail is; nothing comes after the last ones. */
const RANKS: Readonly<Record<string, number>> = {
  queued: 0,
  sent: 1,
  delivered: 2,
  opened: 3,
  clicked: 4,
  bounced: 5,
  complained: 5,
};
/** I12: the status of a mail goes forward only, and is as far as what its provider told of it. */
export const mailsForward = ({ mails }: Pick<History, 'mails'>): Violation[] => {
  const broken = say('I12');
  const isFurther = (status: string, than: string) => RANKS[status]! > RANKS[than]!;
  return mails.flatMap(({ id, seen, told }) => {
    const is = seen.at(-1)!;
    return [
      ...seen.flatMap((status, n) => {
        const last = seen[n - 1];
        return last !== undefined && last !== status && !isFurther(status, last)
          ? [broken(`the mail ${id} was ${last}, and is ${status}`)]
          : [];
      }),
      ...told
        .filter((status) => isFurther(status, is))
        .map((status) => broken(`the mail ${id} is ${status}, and is called ${is}`)),
    ];
  });
};
