import { AppError, ProviderError } from '../../platform/kernel/index.ts';
import { refused } from '../kit/declare/fallback.ts';
import type { AiLine } from './_contract.ts';

const NOT_TAKEN = new Set(['AI_UnsupportedFunctionalityError', 'AI_InvalidPromptError', 'AI_InvalidArgumentError']);
/** Characters that a message may share with what was said: a sentence of the provider may repeat it. */
const SHARED = 20;

/**
 * Answers the failure of a call. The line made those of the way there and of refusals; what is left came inside an
 * answer: the provider's own words about a failure, or nothing that the protocol knows.
 */
export function failureOfCall(error: unknown, line: AiLine, title: string): AppError {
  const causes = causesOf(error);
  const known = causes.find((cause): cause is AppError => cause instanceof AppError);
  const stated = known ?? statedIn(causes[0], line);
  if (stated) return stated;
  return causes.some((cause) => NOT_TAKEN.has((cause as Error).name))
    ? refused('rejected', `${title} does not take such a request`)
    : refused('lost', `${title} answered with something we do not understand`);
}

/** What was written before a failure is paid for, and was read: nobody may ask somebody else instead. */
export const afterText = (error: AppError): AppError =>
  error instanceof ProviderError && ['unavailable', 'rate_limited', 'exhausted'].includes(error.failure)
    ? refused('lost', error.message)
    : error;

function causesOf(error: unknown): unknown[] {
  const causes: unknown[] = [];
  for (let at = error; at !== undefined && at !== null && causes.length < 8; at = Object(at).cause) causes.push(at);
  return causes;
}

/**
 * The failure that a provider states in an event of its stream, or in an answer with a good status: `{ message, code,
 * type }`, alone or as `data`, or as the body that could not be read.
 */
function statedIn(error: unknown, line: AiLine): ProviderError | undefined {
  const { data, responseBody, statusCode } = Object(error) as Record<string, unknown>;
  const told = data ?? (typeof responseBody === 'string' ? jsonOf(responseBody) : error);
  if (typeof told !== 'object' || told === null) return undefined;
  const isWhole = 'error' in told;
  const isRead = typeof responseBody === 'string' && !(Number(statusCode) >= 400); // a good answer that is none
  if (!isWhole && (told instanceof Error || isRead)) return undefined;
  const { code } = Object(isWhole ? told.error : told) as { code?: unknown };
  const status = [statusCode, code].map(Number).find((one) => one >= 400 && one < 600);
  return line.refusal(status ?? 200, isWhole ? told : { error: told });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The same failure; its message without the provider's sentence when that repeats what a person said. */
export function withoutWords(error: unknown, said: string): unknown {
  if (!(error instanceof ProviderError)) return error;
  const plain = (text: string) => text.replace(/\s+/g, ' ');
  const [message, words] = [plain(error.message), plain(said)];
  for (let at = 0; at + SHARED <= message.length; at += 1)
    if (words.includes(message.slice(at, at + SHARED)))
      return refused(error.failure, message.split(': ', 1)[0]!, error.retryAfterMs);
  return error;
}
