import type { Cost, CallUsage } from '../kit/declare/cost.ts';
import { refused } from '../kit/declare/fallback.ts';
import type { AiEnd, TextAnswer } from './_contract.ts';
import type { Dialect, ModelAnswer } from './_dialect.ts';

/** Reads what an answer tells beside its text. */
export async function aiAnswerOf(
  text: string,
  { finishReason, usage, response }: Pick<ModelAnswer, 'finishReason' | 'usage' | 'response'>,
  { asked, dialect }: { asked: string; dialect: Dialect },
): Promise<TextAnswer> {
  const counted = countedUsage(usage);
  const cost = await dialect.costOf?.(usage.raw, response?.id);
  return {
    text,
    end: aiEndOf(finishReason, dialect),
    model: response?.modelId ?? asked,
    usage: dialect.usageOf?.(counted, usage.raw) ?? counted,
    ...(cost && { cost }),
  };
}

function countedUsage({ inputTokens: input, outputTokens: output }: ModelAnswer['usage']): CallUsage {
  return {
    ...(input.total !== undefined && { inputTokens: input.total }),
    ...(input.cacheRead ? { cachedTokens: input.cacheRead } : {}),
    ...(output.total !== undefined && { outputTokens: output.total }),
    ...(output.reasoning ? { reasoningTokens: output.reasoning } : {}),
  };
}

export function addedUsage(one: CallUsage, other: CallUsage): CallUsage {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]) as Set<keyof CallUsage>;
  return Object.fromEntries([...names].map((name) => [name, (one[name] ?? 0) + (other[name] ?? 0)]));
}

/** Undefined when one of them is unknown. */
export function sumOfCosts(costs: readonly (Cost | undefined)[]): Cost | undefined {
  const known = costs.filter((cost) => cost !== undefined);
  if (known.length === 0 || known.length < costs.length) return undefined;
  return { micros: known.reduce((sum, { micros }) => sum + micros, 0), source: known[0]!.source };
}

const ENDS: Readonly<Record<string, AiEnd>> = { stop: 'stop', length: 'length', 'content-filter': 'filter' };
function aiEndOf({ unified, raw }: ModelAnswer['finishReason'], { ends = {}, title }: Dialect): AiEnd {
  const own = raw === undefined ? undefined : ends[raw];
  if (own === 'unavailable') throw refused('unavailable', `${title} broke off: ${raw}`);
  return own ?? ENDS[unified] ?? 'other';
}
