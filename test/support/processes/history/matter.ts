import { acknowledged, groupBy, type History, type Invariant, publishing } from './shape.ts';

// What a history has to hold for a judge to have anything to judge: an empty one breaks no promise.

const accepted = (history: History) => publishing(history).filter((row) => row.accepted);
const KINDS = ['first_comment', 'post_plug'];

/** Whether a history has matter for each invariant. */
const MATTER: Readonly<Record<Invariant, (history: History) => boolean>> = {
  I1: (history) => acknowledged(history).length > 0,
  I2: (history) => accepted(history).length > 0,
  I3: (history) => [...groupBy(accepted(history), ({ account }) => account).values()].some((rows) => rows.length > 1),
  I4: (history) => accepted(history).length > 0,
  I5: ({ limits, counters }) => limits.length > 0 && counters.some(({ of, rows }) => of === 'posts' && rows > 0),
  I6: ({ hooks, received, deliveries }) => hooks.length > 0 && received.length > 0 && deliveries.length > 0,
  I7: ({ followUps }) =>
    KINDS.every((wanted) => followUps.some(({ kind, state }) => kind === wanted && state === 'done')),
  // one event came more than once, accounts were told the same in different ways, and something was spent
  I8: ({ money: { events, left, entries, balances } }) =>
    events.some(({ answers }) => answers.length > 1) &&
    [...groupBy(left, (one) => one.events).values()].some((accounts) => accounts.length > 2) &&
    entries.length > 0 &&
    balances.length > 0,
  I9: ({ canary }) => canary !== undefined && Object.keys(canary.before).length > 0 && canary.asked.length > 0,
  I10: ({ written, edited, created }) =>
    written.length > 0 && edited.length > 0 && created.some(({ recurs, texts = [] }) => recurs && texts.length > 1),
  I11: ({ isLetAlone }) => isLetAlone,
  // of some mails more was told than their rows have become
  I12: ({ mails }) => mails.some(({ seen, told }) => seen.length > 2 && told.some((status) => !seen.includes(status))),
};
export const INVARIANTS = Object.keys(MATTER) as Invariant[];

/** The invariants that a history gives nothing to judge. */
export const unjudgedIn = (history: History): Invariant[] => INVARIANTS.filter((one) => !MATTER[one](history));
