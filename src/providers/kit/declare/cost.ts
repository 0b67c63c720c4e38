/** Where an amount of money comes from, the best source first. */
export const COST_SOURCES = ['reply', 'header', 'price_api', 'price_table', 'estimate'] as const;
export type CostSource = (typeof COST_SOURCES)[number];

/** An amount in millionths of a US dollar, always a whole number. */
export interface Cost {
  micros: number;
  source: CostSource;
}

/** What a call used, as far as the provider tells it; a unit that it does not count is absent. */
export interface CallUsage {
  /** Tokens of the input, with those from a cache. */
  inputTokens?: number;
  cachedTokens?: number;
  /** Tokens of the output, with those of reasoning. */
  outputTokens?: number;
  reasoningTokens?: number;
  characters?: number;
  seconds?: number;
  images?: number;
}

/**
 * Prices of one model in US dollars. Tokens are priced per million, everything else by the piece. A unit without a
 * price costs nothing.
 */
export interface Price {
  input?: number;
  cached?: number;
  output?: number;
  perImage?: number;
  perSecond?: number;
  /** Per million characters. */
  characters?: number;
  /** For one call, beside its units. */
  perCall?: number;
  /** Prices of tokens that hold for a whole call when its input is longer than `above` tokens. */
  long?: { above: number; input?: number; cached?: number; output?: number };
}

const MILLION = 1_000_000;
/** Answers what a call cost in millionths of a dollar, rounded up, so that nothing that is paid for counts as free. */
export function microsOf({ long, ...usual }: Price, usage: CallUsage): number {
  const isLong = long && (usage.inputTokens ?? 0) > long.above;
  const price = isLong ? { ...usual, cached: long.input, ...long } : usual;
  const { inputTokens = 0, cachedTokens = 0, outputTokens = 0, characters = 0, seconds = 0, images = 0 } = usage;
  const cached = Math.min(cachedTokens, inputTokens);
  const micros = // dollars per million tokens are millionths of a dollar per token
    (inputTokens - cached) * (price.input ?? 0) +
    cached * (price.cached ?? price.input ?? 0) +
    outputTokens * (price.output ?? 0) +
    characters * (price.characters ?? 0) +
    MILLION * (images * (price.perImage ?? 0) + seconds * (price.perSecond ?? 0) + (price.perCall ?? 0));
  return Math.ceil(Number(micros.toFixed(6)));
}
