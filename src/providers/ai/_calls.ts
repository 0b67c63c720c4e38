import { AppError, ProviderError } from '../../platform/kernel/index.ts';
import { refused } from '../kit/declare/fallback.ts';
import type { Cost, CallUsage } from '../kit/declare/cost.ts';
import type { LanguageModel, LanguageModels, StreamPart } from '../kit/protocols/language-models.ts';
import type { WebFetchLimits } from '../kit/wire/web-fetch.ts';
import type {
  AiCalls,
  AiEnd,
  AiLine,
  AiTurn,
  Embeddings,
  EmbedRequest,
  ObjectAnswer,
  ObjectRequest,
  TextAnswer,
  TextEvent,
  TextRequest,
} from './_contract.ts';
import { objectIn, objectInstruction, shapeOf, strictlyTaken } from './_objects.ts';

/** Limits of a call: a minute to the first byte, half a minute of silence, ten minutes and 16 MiB in all. */
const LIMITS: WebFetchLimits = {
  headMs: 60_000,
  silenceMs: 30_000,
  wholeMs: 600_000,
  bytes: 16 * 1024 * 1024,
  creates: true,
};

type Generated = Awaited<ReturnType<LanguageModel['doGenerate']>>;
type Options = Parameters<LanguageModel['doGenerate']>[0];
type Raw = Generated['usage']['raw'];

/** A protocol as one brand speaks it. */
export interface Dialect {
  title: string;
  open(fetch: typeof globalThis.fetch, model: string): Promise<LanguageModels>;
  /** How a model is told the form of an object: by a schema of the protocol, as any JSON, or in words alone. */
  objects(model: string): 'schema' | 'json' | 'words';
  /** Reads the cost from the usage of an answer, or asks for that of the call with this id. */
  costOf?(usage: Raw, id: string | undefined): Cost | undefined | Promise<Cost | undefined>;
  /** Corrects the counted tokens from the usage as it was sent, where the protocol's own reading misses some. */
  usageOf?(usage: CallUsage, raw: Raw): CallUsage;
  /** Reasons for an end that the protocol does not know. */
  ends?: Readonly<Record<string, AiEnd | 'unavailable'>>;
  embedOptions?: NonNullable<Options['providerOptions']>;
}

/** Makes the calls of the contract from the models of a protocol. */
export function callsOf(line: AiLine, dialect: Dialect): AiCalls {
  const fetch = line.webFetch(LIMITS) as typeof globalThis.fetch;
  const failed = (error: unknown, said: string) => failureOf(error, said, line, dialect.title);

  async function answerOf(
    text: string,
    { finishReason, usage, response }: Pick<Generated, 'finishReason' | 'usage' | 'response'>,
    asked: string,
  ): Promise<TextAnswer> {
    const counted = countedOf(usage);
    const cost = await dialect.costOf?.(usage.raw, response?.id);
    return {
      text,
      end: endOf(finishReason, dialect),
      model: response?.modelId ?? asked,
      usage: dialect.usageOf?.(counted, usage.raw) ?? counted,
      ...(cost && { cost }),
    };
  }

  async function generate(request: TextRequest, signal?: AbortSignal, more: Partial<Options> = {}) {
    try {
      const result = await (await dialect.open(fetch, request.model)).language(request.model).doGenerate({
        ...optionsOf(request, signal),
        ...more,
      });
      const text = result.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
      return await answerOf(text, result, request.model);
    } catch (error) {
      throw failed(error, saidIn(request));
    }
  }

  async function* stream(request: TextRequest, signal?: AbortSignal): AsyncGenerator<TextEvent, void> {
    const left = new AbortController();
    const ended = signal ? AbortSignal.any([signal, left.signal]) : left.signal;
    let text = '';
    try {
      const begun = await (
        await dialect.open(fetch, request.model)
      )
        .language(request.model)
        .doStream(optionsOf(request, ended));
      const told: NonNullable<Generated['response']> = {};
      for await (const part of partsOf(begun.stream)) {
        if (part.type === 'text-delta' && part.delta !== '') {
          text += part.delta;
          yield { type: 'text', text: part.delta };
        } else if (part.type === 'response-metadata') {
          if (part.modelId !== undefined) told.modelId = part.modelId;
          if (part.id !== undefined) told.id = part.id;
        } else if (part.type === 'error') throw part.error;
        else if (part.type === 'finish') {
          // a stream that is cut between two events ends like this
          if (part.finishReason.raw === undefined) throw new Error('ended without a reason');
          return yield { type: 'done', ...(await answerOf(text, { ...part, response: told }, request.model)) };
        }
      }
      throw new Error('ended before its end');
    } catch (error) {
      throw text === '' ? failed(error, saidIn(request)) : afterText(failed(error, saidIn(request)));
    } finally {
      left.abort(); // also when the reader leaves: nothing is generated for nobody
    }
  }

  return {
    text: (request, signal) => generate(request, signal),
    stream,
    object: (request, signal) => objectBy(generate, dialect, request, signal),
    embed: async (request, signal) => {
      try {
        return await embeddings(await dialect.open(fetch, request.model), dialect, request, signal);
      } catch (error) {
        throw failed(error, request.values.join('\n'));
      }
    },
  };
}

type Generate = (request: TextRequest, signal?: AbortSignal, more?: Partial<Options>) => Promise<TextAnswer>;

/** Asks for an object, and once more when the answer is none of the form. */
async function objectBy(
  generate: Generate,
  dialect: Dialect,
  request: ObjectRequest,
  signal?: AbortSignal,
): Promise<ObjectAnswer> {
  const shape = shapeOf(request.schema);
  const { how, ...asked } = objectQuestion(request, dialect);
  const first = await generate(asked, signal, how);
  const found = objectIn(first.text, shape);
  if ('value' in found || first.end !== 'stop') return objectAnswer(first, found);
  const says = (role: AiTurn['role'], text: string): AiTurn => ({ role, parts: [{ type: 'text', text }] });
  const turns = [
    ...asked.turns,
    says('assistant', first.text || '(nothing)'),
    says('user', `This is not valid: ${found.fault}. Answer with the corrected JSON value alone.`),
  ];
  const second = await generate({ ...asked, turns }, signal, how).catch((error: unknown) => {
    // the first answer is paid for, so it counts where nothing came of the second question
    if (error instanceof ProviderError && error.failure !== 'lost' && !signal?.aborted) return undefined;
    throw error;
  });
  return second ? objectAnswer(second, objectIn(second.text, shape), first) : objectAnswer(first, found);
}

/** Embeds texts, in as many calls as the model needs for them. */
async function embeddings(
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
    const body = Object(answer.response?.body) as { model?: unknown; usage?: Raw };
    if (typeof body.model === 'string') answered = body.model;
    vectors.push(...answer.embeddings);
    counts.push(answer.usage?.tokens);
    costs.push(await dialect.costOf?.(body.usage, undefined));
  }
  const cost = sumOf(costs);
  const inputTokens = counts.includes(undefined) ? undefined : counts.reduce((sum, count) => sum! + count!, 0);
  return { vectors, model: answered, usage: inputTokens === undefined ? {} : { inputTokens }, ...(cost && { cost }) };
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

function promptOf({ instruction, turns }: TextRequest): Options['prompt'] {
  const said = turns.map(({ role, parts }): Options['prompt'][number] =>
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

const optionsOf = (request: TextRequest, signal?: AbortSignal): Options => ({
  prompt: promptOf(request),
  maxOutputTokens: request.maxTokens,
  ...(request.temperature !== undefined && { temperature: request.temperature }),
  ...(signal && { abortSignal: signal }),
});

function objectQuestion({ schema, ...request }: ObjectRequest, { objects }: Dialect) {
  const way = objects(request.model);
  if (way === 'schema')
    return {
      ...request,
      how: {
        responseFormat: { type: 'json', schema, name: 'answer' } as NonNullable<Options['responseFormat']>,
        providerOptions: { openaiCompatible: { strictJsonSchema: strictlyTaken(schema) } },
      },
    };
  const instruction = [request.instruction, objectInstruction(schema)].filter(Boolean).join('\n\n');
  const how: Partial<Options> = way === 'json' ? { responseFormat: { type: 'json' } } : {};
  return { ...request, instruction, how };
}

/** An answer that is no object of the form has none, and tells why it ended; what was tried before is paid for, too. */
function objectAnswer(
  { cost, usage, end, model }: TextAnswer,
  found: { value: unknown } | { fault: string },
  before?: TextAnswer,
): ObjectAnswer {
  const whole = before ? sumOf([before.cost, cost]) : cost;
  return {
    object: 'value' in found ? found.value : undefined,
    end: 'value' in found || end !== 'stop' ? end : 'other',
    model,
    usage: before ? addedUsage(before.usage, usage) : usage,
    ...(whole && { cost: whole }),
  };
}

function countedOf({ inputTokens: input, outputTokens: output }: Generated['usage']): CallUsage {
  return {
    ...(input.total !== undefined && { inputTokens: input.total }),
    ...(input.cacheRead ? { cachedTokens: input.cacheRead } : {}),
    ...(output.total !== undefined && { outputTokens: output.total }),
    ...(output.reasoning ? { reasoningTokens: output.reasoning } : {}),
  };
}

function addedUsage(one: CallUsage, other: CallUsage): CallUsage {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]) as Set<keyof CallUsage>;
  return Object.fromEntries([...names].map((name) => [name, (one[name] ?? 0) + (other[name] ?? 0)]));
}

/** Undefined when one of them is unknown. */
function sumOf(costs: readonly (Cost | undefined)[]): Cost | undefined {
  const known = costs.filter((cost) => cost !== undefined);
  if (known.length === 0 || known.length < costs.length) return undefined;
  return { micros: known.reduce((sum, { micros }) => sum + micros, 0), source: known[0]!.source };
}

const ENDS: Readonly<Record<string, AiEnd>> = { stop: 'stop', length: 'length', 'content-filter': 'filter' };
function endOf({ unified, raw }: Generated['finishReason'], { ends = {}, title }: Dialect): AiEnd {
  const own = raw === undefined ? undefined : ends[raw];
  if (own === 'unavailable') throw refused('unavailable', `${title} broke off: ${raw}`);
  return own ?? ENDS[unified] ?? 'other';
}

const saidIn = ({ instruction = '', turns }: TextRequest): string =>
  [instruction, ...turns.flatMap(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : '')))].join(
    '\n',
  );

const NOT_TAKEN = new Set(['AI_UnsupportedFunctionalityError', 'AI_InvalidPromptError', 'AI_InvalidArgumentError']);
/** Characters that a message may share with what was said: a sentence of the provider may repeat it. */
const SHARED = 20;

/**
 * Answers the failure of a call. The line made those of the way there and of refusals; what is left came inside an
 * answer: the provider's own words about a failure, or nothing that the protocol knows.
 */
function failureOf(error: unknown, said: string, line: AiLine, title: string): AppError {
  const causes = causesOf(error);
  const known = causes.find((cause): cause is AppError => cause instanceof AppError);
  const stated = known ?? statedIn(causes[0], line);
  if (stated instanceof ProviderError) return withoutWords(stated, said);
  if (stated) return stated;
  return causes.some((cause) => NOT_TAKEN.has((cause as Error).name))
    ? refused('rejected', `${title} does not take such a request`)
    : refused('lost', `${title} answered with something we do not understand`);
}

/** What was written before a failure is paid for, and was read: nobody may ask somebody else instead. */
const afterText = (error: AppError): AppError =>
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
function withoutWords(error: ProviderError, said: string): ProviderError {
  const plain = (text: string) => text.replace(/\s+/g, ' ');
  const [message, words] = [plain(error.message), plain(said)];
  for (let at = 0; at + SHARED <= message.length; at += 1)
    if (words.includes(message.slice(at, at + SHARED)))
      return refused(error.failure, message.split(': ', 1)[0]!, error.retryAfterMs);
  return error;
}
