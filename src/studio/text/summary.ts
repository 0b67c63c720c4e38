import { firstAnswer, type Models } from '../models/index.ts';
import { fenceData } from './fences.ts';
import { allowedWords, keepGivenWords, unknownNumbers } from './given-words.ts';
import { answered, type Asker, type PaidCallDeps } from './paid-call.ts';
import { unfit, writtenBy } from './written.ts';

/** Counts and names by what they are, such as `{ "new drafts": 3 }`. */
export type SummedRows = Readonly<Record<string, string | number | readonly string[]>>;

const MOST_TOKENS = 1_000;
const LONGEST = 600;
const INSTRUCTION =
  'You sum up what happened for somebody who has little time, in two or three plain sentences in English: first what they have to do or decide. The object is one of counts and names. Use no number, name or link that it does not have, no Markdown and no introduction.';

/**
 * Sums rows up by a language model. Links and mentions that the rows do not have are removed.
 *
 * @throws AppError 400 where no provider is set up, 402 where the budget has no room, 502 where the answer is none, or
 * names a number that the rows do not have
 */
export async function sumUp(
  deps: PaidCallDeps & { models: Pick<Models, 'resolveAi'> },
  asker: Asker,
  rows: SummedRows,
  signal: AbortSignal,
): Promise<string> {
  const given = [JSON.stringify(rows)];
  const candidates = await deps.models.resolveAi(asker.orgId, { purpose: 'text' });
  return firstAnswer(candidates, async (candidate) => {
    const { rule, text: data } = fenceData(rows); // programs are named by strangers
    const prompt = {
      instruction: `${INSTRUCTION}\n\n${rule}`,
      turns: [{ role: 'user' as const, parts: [{ type: 'text' as const, text: data }] }],
      maxTokens: MOST_TOKENS,
    };
    const answer = await answered(deps, asker, candidate, prompt, signal);
    const { content } = writtenBy(candidate.adapter, answer, answer.text);
    const { text } = keepGivenWords(content, allowedWords(given));
    if (text === '' || text.length > LONGEST || unknownNumbers(text, given).length > 0)
      throw unfit(candidate.adapter, 'summed up what was not asked for');
    return text;
  });
}
