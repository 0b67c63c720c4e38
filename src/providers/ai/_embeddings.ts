import type { Cost } from '../kit/declare/cost.ts';
import type { LanguageModels } from '../kit/protocols/language-models.ts';
import { sumOfCosts } from './_answers.ts';
import type { Embeddings, EmbedRequest } from './_contract.ts';
import type { Dialect, RawUsage } from './_dialect.ts';

/** Embeds texts, in as many calls as the model needs for them. */
export async function embedTexts(
  models: LanguageModels,
  dialect: Dialect,
  { model: asked, values }: EmbedRequest,
  signal?: AbortSignal,
): Promise<Embeddings> {
  const model = models.embedding!(asked);
  const most = (await model.maxEmbeddingsPerCall) ?? values.length;
  const vectors: number[][] = [];
  const costs: (Cost | undefined)[] = [];
  const counts: (number | undefined)[] = [];
  let answered = asked;
  for (let from = 0; from < values.length; from += most) {
    const part = values.slice(from, from + most);
    const answer = await model.doEmbed({
      values: part,
      ...(dialect.embedOptions && { providerOptions: dialect.embedOptions }),
      ...(signal && { abortSignal: signal }),
    });
    if (answer.embeddings.length !== part.length) throw new Error('answered another number of vectors');
    const body = Object(answer.response?.body) as { model?: unknown; usage?: RawUsage };
    if (typeof body.model === 'string') answered = body.model;
    vectors.push(...answer.embeddings);
    counts.push(answer.usage?.tokens);
    costs.push(await dialect.costOf?.(body.usage, undefined));
  }
  const cost = sumOfCosts(costs);
  const inputTokens = counts.includes(undefined) ? undefined : counts.reduce((sum, count) => sum! + count!, 0);
  return { vectors, model: answered, usage: inputTokens === undefined ? {} : { inputTokens }, ...(cost && { cost }) };
}
