import type { LanguageModel, StreamPart } from '../kit/protocols/language-models.ts';
import type { WebFetchLimits } from '../kit/wire/web-fetch.ts';
import { aiAnswerOf } from './_answers.ts';
import type { AiCalls, AiLine, TextEvent, TextRequest } from './_contract.ts';
import type { Dialect, ModelAnswer, ModelQuestion } from './_dialect.ts';
import { embedTexts } from './_embeddings.ts';
import { afterText, failureOfCall } from './_failures.ts';
import { askForObject } from './_object-calls.ts';

/** Limits of a call: a minute to the first byte, half a minute of silence, ten minutes and 16 MiB in all. */
const LIMITS: WebFetchLimits = {
  headMs: 60_000,
  silenceMs: 30_000,
  wholeMs: 600_000,
  bytes: 16 * 1024 * 1024,
  creates: true,
};

/** Makes the calls of the contract from the models of a protocol. */
export function callsOf(line: AiLine, dialect: Dialect): AiCalls {
  const fetch = line.webFetch(LIMITS) as typeof globalThis.fetch;
  const failed = (error: unknown) => failureOfCall(error, line, dialect.title);
  /**
   * The model of the last call. To make one costs more than to read a short answer, since it makes the schemas of its
   * answers; those of all connections are too many to hold, so the collector may take it.
   */
  let last: { id: string; model: WeakRef<LanguageModel> } | undefined;
  async function modelOf(id: string): Promise<LanguageModel> {
    const known = last?.id === id ? last.model.deref() : undefined;
    if (known) return known;
    const model = (await dialect.open(fetch, id)).language(id);
    last = { id, model: new WeakRef(model) };
    return model;
  }

  function named(request: TextRequest, id: string | undefined): void {
    if (id !== undefined && dialect.laterCostOf) request.named?.(id);
  }

  async function generate(request: TextRequest, signal?: AbortSignal, how: Partial<ModelQuestion> = {}) {
    try {
      const model = await modelOf(request.model);
      const result = await model.doGenerate({ ...questionOf(request, signal), ...how });
      named(request, result.response?.id);
      const text = result.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
      return await aiAnswerOf(text, result, { asked: request.model, dialect });
    } catch (error) {
      throw failed(error);
    }
  }

  async function* stream(request: TextRequest, signal?: AbortSignal): AsyncGenerator<TextEvent, void> {
    const left = new AbortController();
    const ended = signal ? AbortSignal.any([signal, left.signal]) : left.signal;
    let text = '';
    try {
      const model = await modelOf(request.model);
      const begun = await model.doStream(questionOf(request, ended));
      const told: NonNullable<ModelAnswer['response']> = {};
      for await (const part of partsOf(begun.stream)) {
        if (part.type === 'text-delta' && part.delta !== '') {
          text += part.delta;
          yield { type: 'text', text: part.delta };
        } else if (part.type === 'response-metadata') {
          if (part.modelId !== undefined) told.modelId = part.modelId;
          if (part.id !== undefined) told.id = part.id;
          named(request, part.id);
        } else if (part.type === 'error') throw part.error;
        else if (part.type === 'finish') {
          // a stream that is cut between two events ends like this
          if (part.finishReason.raw === undefined) throw new Error('ended without a reason');
          const answer = await aiAnswerOf(text, { ...part, response: told }, { asked: request.model, dialect });
          return yield { type: 'done', ...answer };
        }
      }
      throw new Error('ended before its end');
    } catch (error) {
      throw text === '' ? failed(error) : afterText(failed(error));
    } finally {
      left.abort(); // also when the reader leaves: nothing is generated for nobody
    }
  }

  const { laterCostOf } = dialect;
  return {
    text: (request, signal) => generate(request, signal),
    stream,
    ...(laterCostOf && { costOf: (callId: string) => laterCostOf(callId) }),
    object: (request, signal) => askForObject(generate, dialect, request, signal),
    embed: async (request, signal) => {
      try {
        return await embedTexts(await dialect.open(fetch, request.model), dialect, request, signal);
      } catch (error) {
        throw failed(error);
      }
    },
  };
}

/** Reads a stream to its end; leaving it ends it. */
async function* partsOf(stream: ReadableStream<StreamPart>): AsyncGenerator<StreamPart, void> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    void reader.cancel().catch(() => undefined); // not waited for: some of them wait for the next event
  }
}

function promptOf({ instruction, turns }: TextRequest): ModelQuestion['prompt'] {
  const said = turns.map(({ role, parts }): ModelQuestion['prompt'][number] =>
    role === 'user'
      ? {
          role,
          content: parts.map((part) =>
            part.type === 'text'
              ? { type: 'text', text: part.text }
              : { type: 'file', mediaType: part.mediaType, data: { type: 'data', data: part.bytes } },
          ),
        }
      : { role, content: parts.flatMap((part) => (part.type === 'text' ? [{ type: 'text', text: part.text }] : [])) },
  );
  return instruction === undefined ? said : [{ role: 'system', content: instruction }, ...said];
}

const questionOf = (request: TextRequest, signal?: AbortSignal): ModelQuestion => ({
  prompt: promptOf(request),
  maxOutputTokens: request.maxTokens,
  ...(request.temperature !== undefined && { temperature: request.temperature }),
  ...(signal && { abortSignal: signal }),
});
