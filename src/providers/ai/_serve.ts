import { storableJson } from '../../platform/content/index.ts';
import { type Cost, microsOf, type Price } from '../kit/declare/cost.ts';
import type { Ai, AiAdapter, AiAnswer, AiLine, AiModel, EmbedRequest, TextEvent, TextRequest } from './_contract.ts';
import { withoutWords } from './_failures.ts';
import { checkEmbedding, checkQuestion } from './_requests.ts';
import { priceOf } from './_prices.ts';
import { storableEvents } from './_storable.ts';

/** No tokenizer makes more tokens of a text than it has bytes. */
const tokensOf = (text: string): number => Buffer.byteLength(text);
/** Tokens of one picture, more than any provider counts for the sizes that they take. */
const PICTURE_TOKENS = 8_000;
/** Tokens of the words that a protocol, or a second question about an object, adds. */
const AROUND_TOKENS = 500;

/** What a person said, with the instruction beside it. */
const wordsOf = (request: TextRequest | EmbedRequest): string =>
  'values' in request
    ? request.values.join('\n')
    : [
        request.instruction ?? '',
        ...request.turns.flatMap(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : ''))),
      ].join('\n');

function inputTokensOf(request: TextRequest | EmbedRequest): number {
  if ('values' in request) return request.values.reduce((sum, value) => sum + tokensOf(value), 0);
  const parts = request.turns.flatMap((turn) => turn.parts);
  const said = parts.reduce((sum, part) => sum + (part.type === 'text' ? tokensOf(part.text) : PICTURE_TOKENS), 0);
  const form = 'schema' in request ? tokensOf(JSON.stringify(request.schema)) : 0;
  return said + tokensOf(request.instruction ?? '') + form + AROUND_TOKENS;
}

/** An object may be asked for twice, the second time with the first answer. */
function greatestUsage(request: TextRequest | EmbedRequest) {
  const inputTokens = inputTokensOf(request);
  if (!('maxTokens' in request)) return { inputTokens, outputTokens: 0 };
  const { maxTokens } = request;
  return 'schema' in request
    ? { inputTokens: 2 * inputTokens + maxTokens, outputTokens: 2 * maxTokens }
    : { inputTokens, outputTokens: maxTokens };
}

/**
 * Completes the calls of an adapter: checks of requests, answers that can be stored, costs by price where the answer
 * tells none, estimates, the list of models.
 */
export function serveAi(adapter: AiAdapter, line: AiLine, own: Readonly<Record<string, Price>>): Ai {
  const calls = adapter.connect(line);

  /**
   * An answer may name another model than was asked for, such as a dated one of the same family, or the one behind a
   * deployment that its owner has priced. One that counts nothing is paid for by what it says.
   */
  function withCost<T extends AiAnswer>(answer: T, request: TextRequest | EmbedRequest, said: string): T {
    if (answer.cost) return answer;
    const known =
      own[request.model] ??
      own[answer.model] ??
      priceOf(adapter.id, answer.model) ??
      priceOf(adapter.id, request.model);
    if (!known) return answer;
    const isCounted = answer.usage.inputTokens !== undefined || answer.usage.outputTokens !== undefined;
    const usage = isCounted ? answer.usage : { inputTokens: inputTokensOf(request), outputTokens: tokensOf(said) };
    const source = isCounted ? ('price_table' as const) : ('estimate' as const);
    return { ...answer, cost: { micros: microsOf(known, usage), source } };
  }

  /** No failure shows what a person said. */
  async function quietly<T>(request: TextRequest | EmbedRequest, work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw withoutWords(error, wordsOf(request));
    }
  }
  async function* stream(request: TextRequest, signal?: AbortSignal): AsyncGenerator<TextEvent, void> {
    checkQuestion(adapter, request);
    try {
      for await (const event of storableEvents(calls.stream(request, signal)))
        yield event.type === 'done' ? withCost(event, request, event.text) : event;
    } catch (error) {
      throw withoutWords(error, wordsOf(request));
    }
  }
  const { embed, costOf } = calls;
  return {
    async text(request, signal) {
      checkQuestion(adapter, request);
      const answer = storableJson(await quietly(request, calls.text(request, signal)));
      return withCost(answer, request, answer.text);
    },
    async object(request, signal) {
      checkQuestion(adapter, request);
      const answer = storableJson(await quietly(request, calls.object(request, signal)));
      return withCost(answer, request, JSON.stringify(answer.object) ?? '');
    },
    stream,
    ...(costOf && { costOf: (callId: string) => costOf(callId) }),
    ...(embed &&
      adapter.facts.kinds.includes('embedding') && {
        async embed(request, signal) {
          checkEmbedding(adapter, request);
          return withCost(await quietly(request, embed(request, signal)), request, '');
        },
      }),
    async models() {
      const listed = (await adapter.listModels?.(line)) ?? [];
      const known = new Map<string, AiModel>([...listed, ...adapter.models].map((model) => [model.id, model]));
      return [...known.values()];
    },
    estimate(request): Cost | undefined {
      const known = own[request.model] ?? priceOf(adapter.id, request.model);
      if (!known) return undefined;
      const perCall = (known.perCall ?? 0) * ('schema' in request ? 2 : 1);
      return { micros: microsOf({ ...known, perCall }, greatestUsage(request)), source: 'estimate' };
    },
  };
}
