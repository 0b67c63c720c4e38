import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import { findAiCap } from '../../entitlements/index.ts';
import { type Database, runEach, type Sql } from '../../platform/db/index.ts';
import { bind, type FieldError, fieldError, newId, validationFailed } from '../../platform/kernel/index.ts';
import { append } from '../../platform/outbox/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import type { Cost, Providers } from '../../providers/registry/index.ts';
import { findLateCost, type LateCostDeps, MOST_ASKED } from './late-costs.ts';
import {
  alertedAfter,
  type BudgetDomain,
  type BudgetRules,
  type BudgetWindow,
  capOf,
  checkCaps,
  checkPriced,
  checkProgramCap,
  isTold,
  NO_BUDGET,
  percentsReached,
  settlementOf,
} from './rules.ts';
import * as store from './store.ts';

/** What the room is opened with. */
export interface BudgetDeps extends LateCostDeps {
  sql: Database;
  providers: Pick<Providers, 'list' | 'ai'>;
  /** AI_PROVIDER_BUDGET_ENFORCE; false: no cap refuses, and everything else goes on. */
  enforce: boolean;
  log: Pick<Log, 'warn'>;
}

/** A call that is to be made, with the greatest cost that it can have. */
export interface Reservation extends store.CallKey {
  userId: string | null;
  /** The program that may spend only so much a day. */
  programId?: string | null | undefined;
  domain: BudgetDomain;
  providerId: string;
  /** For the words of a refusal. */
  model?: string | null;
  /** Undefined: the model has no price. */
  micros: number | undefined;
  /** How long the call may be under way; afterwards it is settled by its estimate. Default: 15 minutes. */
  holdMs?: number;
}

const LONGEST_CALL_MS = 15 * 60_000;

/**
 * Reserves the greatest cost of a call, in the caller's transaction, which must be rolled back when this throws.
 *
 * @throws AppError 402 `limit_exceeded` where a cap has no room for it, 400 for a model without a price under a cap
 */
async function reserveCost(
  { enforce }: Pick<BudgetDeps, 'enforce'>,
  sql: Sql,
  { micros, model, holdMs = LONGEST_CALL_MS, ...call }: Reservation,
): Promise<void> {
  const source = micros === undefined ? null : 'estimate';
  // sent one behind the other: the caps are read once the windows are locked, and one that was lowered before holds
  const [windows, budget] = await Promise.all([
    store.insertReservation(sql, { ...call, micros: Math.ceil(micros ?? 0), source, holdMs }),
    enforce ? store.findBudget(sql, call.orgId) : undefined,
  ]);
  if (call.programId) {
    const cap = await findAiCap(sql, call.programId);
    if (cap !== null) checkProgramCap(cap, windows, { ...call, model, micros });
  }
  if (!budget) return;
  if (micros === undefined) checkPriced(budget, windows, { ...call, model });
  checkCaps(budget, windows);
}

/**
 * Settles a call by what it cost, in the caller's transaction; without a cost by its estimate. A call is settled once;
 * a true cost that comes after an estimate corrects it. `marked`: the amount is not known to be the true one. `later`:
 * how its provider can be asked, where it has not told the cost; the amount is marked until then.
 */
async function settleCost(
  _: object,
  sql: Sql,
  key: store.CallKey,
  cost: Cost | undefined,
  { marked = false, later }: { marked?: boolean; later?: Omit<store.LateCost, keyof store.CallKey> } = {},
): Promise<void> {
  const isLate = later !== undefined && later.callIds.length > 0 && !isTold(cost);
  const settlement = settlementOf(cost, marked || isLate);
  const [windows, budget] = await Promise.all([
    store.endReservation(sql, key, settlement),
    store.findBudget(sql, key.orgId),
    isLate && store.insertLateCost(sql, { ...key, ...later }),
  ]);
  if (windows.length > 0) return announceReached(sql, key.orgId, windows, budget);
  if (settlement.micros === null || settlement.marked) return;
  const corrected = await store.insertCorrection(sql, key, settlement);
  if (corrected.length > 0) await announceReached(sql, key.orgId, corrected, await store.findBudget(sql, key.orgId));
}

/** Gives the reservation of a call back that cost nothing, in the caller's transaction. */
async function releaseCost(_: object, sql: Sql, key: store.CallKey): Promise<void> {
  await store.endReservation(sql, key, undefined);
}

/** Answers in which program's day a call counts: a key that was replaced since has passed its calls on. */
const programOfCall = (_: object, sql: Sql, key: store.CallKey): Promise<string | null | undefined> =>
  store.findProgramOf(sql, key);

/**
 * Checks that the caps have room for calls that are planned, all of them; nothing is reserved.
 *
 * @throws AppError as `reserve` does
 */
async function checkRoomFor(
  { sql, enforce }: Pick<BudgetDeps, 'sql' | 'enforce'>,
  calls: readonly Omit<Reservation, 'ref'>[],
): Promise<void> {
  if (!enforce || calls.length === 0) return;
  const undone = new Error('only asked');
  await sql
    .begin(async (tx) => {
      for (const call of calls) await reserveCost({ enforce }, tx, { ...call, ref: newId() });
      throw undone;
    })
    .catch((error: unknown) => {
      if (error !== undone) throw error;
    });
}

/**
 * Settles reservations that nobody works on any more by their estimate, at most `limit`; answers how many. One that
 * fails holds up no other.
 */
const settleLapsed = ({ sql, log }: Pick<BudgetDeps, 'sql' | 'log'>, limit: number): Promise<number> =>
  runEach<store.CallKey>(limit, {
    find: (most, tried) => store.lapsedReservations(sql, most, tried),
    work: (key) => sql.begin((tx) => settleCost({}, tx, key, undefined, { marked: true })),
    failed: (err, { orgId, ref }) =>
      log.warn({ err, orgId, ref }, 'a lapsed reservation could not be settled, tried again'),
  });

/**
 * Asks providers what calls have cost that were settled before it was known, and corrects the ledger; answers how many.
 * Each is asked about once: where it does not know then, the settlement stands, and stays marked.
 */
async function correctLateCosts(
  { sql, log, ...deps }: Pick<BudgetDeps, 'sql' | 'log' | keyof LateCostDeps>,
  limit: number,
): Promise<number> {
  const due = await store.findLateCosts(sql, Math.min(limit, MOST_ASKED));
  const costs = await Promise.allSettled(due.map((late) => findLateCost(deps, late)));
  for (const [at, { orgId, ref }] of due.entries())
    await sql
      .begin(async (tx) => {
        const { value: cost, reason } = costs[at] as { value?: Cost; reason?: unknown };
        await store.deleteLateCost(tx, { orgId, ref });
        if (cost) await settleCost({}, tx, { orgId, ref }, cost);
        if (reason)
          log.warn({ err: reason, orgId, ref }, 'the cost of a call could not be asked for, its estimate stays');
      })
      .catch((err: unknown) => log.warn({ err, orgId, ref }, 'the cost of a call could not be corrected, tried again'));
  return due.length;
}

/** The caps of an organization, and at which percentages of them it is told. */
const getBudget = async ({ sql }: Pick<BudgetDeps, 'sql'>, orgId: string): Promise<BudgetRules> =>
  (await store.findBudget(sql, orgId)) ?? NO_BUDGET;

/**
 * Changes what is given of the caps; a cap below what is spent refuses the next call. What another cap has reached is
 * announced unless as much was before, and what it has not reached is announced when it is (S238).
 */
async function changeBudget(
  { sql, providers }: Pick<BudgetDeps, 'sql' | 'providers'>,
  orgId: string,
  change: { [Key in keyof BudgetRules]?: BudgetRules[Key] | undefined },
  by: AuditActor,
): Promise<BudgetRules> {
  checkProviders(providers, change.providers ?? []);
  return sql.begin(async (tx) => {
    const before = await store.lockBudget(tx, orgId);
    const given = Object.entries(change).filter(([, value]) => value !== undefined);
    const budget: BudgetRules = { ...before, ...Object.fromEntries(given) };
    await store.updateBudget(tx, orgId, budget);
    const detail = { fields: given.map(([name]) => name) };
    await writeAudit(tx, by, { orgId, action: 'ai_budget.updated', resource: 'settings', resourceId: orgId, detail });
    const windows = await store.lockWindows(tx, orgId);
    for (const window of windows) {
      const alerted = alertedAfter(before, budget, window);
      if (alerted !== window.alerted) await store.noteAlerted(tx, orgId, window, alerted);
      window.alerted = alerted;
    }
    await announceReached(tx, orgId, windows, budget);
    return budget;
  });
}

/** Refuses caps of providers that are not there, or that are named twice. */
function checkProviders(known: Pick<Providers, 'list'>, caps: BudgetRules['providers']): void {
  const errors = caps.flatMap(({ domain, providerId }, n): FieldError[] => {
    const field = `providers.${n}.providerId`;
    if (!known.list(domain).some(({ id }) => id === providerId))
      return [fieldError(field, `there is no ${domain} provider of this id`, 'invalid_value')];
    const isFirst = caps.findIndex((one) => one.domain === domain && one.providerId === providerId) === n;
    return isFirst ? [] : [fieldError(field, 'has caps above already', 'duplicate')];
  });
  if (errors.length > 0) throw validationFailed(errors);
}

/** Announces each percentage of a cap that is reached, once for each window; the windows are locked by the caller. */
async function announceReached(
  sql: Sql,
  orgId: string,
  windows: readonly BudgetWindow[],
  budget: BudgetRules | undefined,
): Promise<void> {
  if (!budget) return;
  for (const window of windows) {
    const { domain } = window;
    if (domain === 'program') continue; // a person has set its cap, and nobody is told
    const percents = percentsReached(budget, window);
    if (percents.length === 0) continue;
    await store.noteAlerted(sql, orgId, window, percents.at(-1)!);
    await append(
      sql,
      percents.map((percent) => ({
        orgId,
        topic: 'ai.budget_alert' as const,
        entityId: orgId,
        payload: {
          domain: domain || null,
          providerId: window.providerId || null,
          period: window.period,
          starts: window.starts,
          percent,
          capCents: capOf(budget, window)!,
          spentMicros: window.spent,
        },
      })),
    );
  }
}

export type Budget = ReturnType<typeof openBudget>;

/** Opens what organizations may spend at providers of AI and media, and the ledger of what they spent. */
export const openBudget = (deps: BudgetDeps) =>
  bind(deps, {
    reserve: reserveCost,
    settle: settleCost,
    release: releaseCost,
    programOf: programOfCall,
    checkRoomFor,
    settleLapsed,
    correctLateCosts,
    get: getBudget,
    change: changeBudget,
  });
