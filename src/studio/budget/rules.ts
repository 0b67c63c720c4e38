import { AppError, fieldError } from '../../platform/kernel/index.ts';
import type { Cost, CostSource } from '../../providers/registry/index.ts';

export type BudgetDomain = 'ai' | 'media';
export type BudgetPeriod = 'day' | 'month';

/** Greatest amounts in cents of a US dollar, by the days and months of UTC; null: no cap. */
export interface Caps {
  monthlyCents: number | null;
  dailyCents: number | null;
}
export interface ProviderCaps extends Caps {
  domain: BudgetDomain;
  providerId: string;
}
/** What an organization decided: caps over all providers and for single ones, and when it wants to hear of them. */
export interface BudgetRules extends Caps {
  providers: readonly ProviderCaps[];
  alertPercents: readonly number[];
}

export const NO_BUDGET: BudgetRules = {
  monthlyCents: null,
  dailyCents: null,
  providers: [],
  alertPercents: [50, 80, 100],
};

/**
 * What was spent and is reserved in a day or a month, at one provider or, with empty names, at all of them; or in a day
 * by a program, whose id stands in the place of a provider.
 */
export interface BudgetWindow {
  domain: BudgetDomain | 'program' | '';
  providerId: string;
  period: BudgetPeriod;
  starts: string;
  spent: number;
  reserved: number;
  /** The greatest percentage that was announced. */
  alerted: number;
}

const MICROS_PER_CENT = 10_000;
/** No amount is counted for more: sums of such amounts are still exact. */
const MOST_MICROS = 1_000_000_000_000;
/** Beyond so many times its estimate, which is the greatest cost that a call can have, a cost makes no sense. */
export const ODD_FACTOR = 1_000;

/** The cap of a window in cents. */
export function capOf({ providers, ...all }: BudgetRules, window: BudgetWindow): number | null {
  const caps =
    window.domain === ''
      ? all
      : providers.find(({ domain, providerId }) => domain === window.domain && providerId === window.providerId);
  return (window.period === 'day' ? caps?.dailyCents : caps?.monthlyCents) ?? null;
}

const dollars = (cents: number): string => `${(cents / 100).toFixed(2)} US dollars`;

/** Nothing was asked: a cap has no room for the call, or holds where its model has no price. */
export class BudgetRefusal extends AppError {
  /** The cap is not of one provider: what follows has no room either. */
  get isOfAll(): boolean {
    return this.code === 'limit_exceeded' && this.extra['provider'] === undefined;
  }
}

/** Refuses a call whose reservation a cap has no room for; `windows` count it already. */
export function checkCaps(budget: BudgetRules, windows: readonly BudgetWindow[]): void {
  for (const window of windows) {
    const cap = capOf(budget, window);
    if (cap === null || window.spent + window.reserved <= cap * MICROS_PER_CENT) continue;
    const { domain, providerId, period } = window;
    const place = domain === '' ? 'all providers' : `the ${domain} provider ${providerId}`;
    throw new BudgetRefusal(
      'limit_exceeded',
      `The AI budget of this ${period} for ${place} has no room for this (${dollars(cap)}): raise the cap, or wait for the next ${period} (UTC)`,
      { limit: 'ai_budget', max: cap, period, ...(domain !== '' && { domain, provider: providerId }) },
    );
  }
}

/** A call as the words of a refusal name it. */
interface PricedCall {
  domain: BudgetDomain;
  providerId: string;
  model?: string | null | undefined;
}

/** Refuses a call whose reservation the day of its program has no room for, or that has no price. */
export function checkProgramCap(
  cap: number,
  windows: readonly BudgetWindow[],
  call: PricedCall & { micros: number | undefined },
): void {
  if (call.micros === undefined) throw noPrice(call);
  const day = windows.find(({ domain }) => domain === 'program');
  if (day && day.spent + day.reserved > cap * MICROS_PER_CENT)
    throw new BudgetRefusal(
      'limit_exceeded',
      `What this key or app may spend on AI in a day has no room for this (${dollars(cap)}): wait for the next day (UTC)`,
      { limit: 'ai_budget', max: cap, period: 'day' },
    );
}

/** Refuses a model without a price where a cap holds: nobody could say what is left of it. */
export function checkPriced(budget: BudgetRules, windows: readonly BudgetWindow[], call: PricedCall): void {
  if (windows.some((window) => capOf(budget, window) !== null)) throw noPrice(call);
}

/** Nobody knows before how many tokens a result has: prices of tokens alone bound no cost of media. */
const BOUND = ', with the most that one costs (perImage, perSecond or characters) where it is priced by tokens';

function noPrice({ domain, providerId, model }: PricedCall): BudgetRefusal {
  const bound = domain === 'media' ? BOUND : '';
  const fault = fieldError(
    'model',
    `no price is known for ${model ?? 'this operation'} of ${providerId}, and a budget cap holds: set its price in the option prices of the setting of ${providerId}${bound}`,
    'no_price',
  );
  return new BudgetRefusal('validation_failed', fault.message, { errors: [fault] });
}

/** The percentages of its cap that a window has reached and that were not announced yet, the smallest first. */
export function percentsReached(budget: BudgetRules, window: BudgetWindow): number[] {
  const cap = capOf(budget, window);
  if (cap === null || window.spent <= 0) return [];
  return budget.alertPercents
    .filter((percent) => percent > window.alerted && window.spent * 100 >= percent * cap * MICROS_PER_CENT)
    .toSorted((a, b) => a - b);
}

/**
 * The greatest percentage that counts as announced after a change of the caps: of another cap those that are not reached
 * are still to come. Without a cap nothing is, and what was announced stays for when it comes back.
 */
export function alertedAfter(before: BudgetRules, after: BudgetRules, window: BudgetWindow): number {
  const cap = capOf(after, window);
  if (cap === null || cap === capOf(before, window)) return window.alerted;
  return Math.min(window.alerted, percentsReached(after, { ...window, alerted: 0 }).at(-1) ?? 0);
}

/** What a settlement writes: `micros` null stands for the amount that was reserved. */
export interface BudgetSettlement {
  micros: number | null;
  source: CostSource | null;
  /** As the provider said it, where it makes no sense. */
  told: string | null;
  marked: boolean;
}

/**
 * The settlement of a call by what it cost. Without a cost it is the estimate; a cost that is negative or no number is
 * kept beside the estimate, and marked.
 */
export function settlementOf(cost: Cost | undefined, marked = false): BudgetSettlement {
  if (!cost) return { micros: null, source: null, told: null, marked };
  const { micros, source } = cost;
  if (!Number.isFinite(micros) || micros < 0) return { micros: null, source: null, told: String(micros), marked: true };
  const isTooMuch = micros > MOST_MICROS;
  return {
    micros: Math.min(Math.ceil(micros), MOST_MICROS),
    source,
    told: isTooMuch ? String(micros) : null,
    marked: marked || isTooMuch,
  };
}

/** Whether the provider itself has said it. */
export const isTold = (cost: Cost | undefined): boolean =>
  cost !== undefined && cost.source !== 'price_table' && cost.source !== 'estimate';

/** What is shown of a cost: undefined for an amount that makes no sense, as nothing is settled by it. */
export function costTold(cost: Cost | undefined): Cost | undefined {
  const { micros, source } = settlementOf(cost);
  return micros === null ? undefined : { micros, source: source! };
}
