import { z } from 'zod';
import type { FailureByCode } from '../kit/declare/failures.ts';
import type { Cost } from '../kit/declare/cost.ts';
import { type Fields, secret, text } from '../kit/declare/fields.ts';
import { openaiChatModels } from '../kit/protocols/language-models.ts';
import type { Auth, Call } from '../kit/wire/http.ts';
import { callsOf } from './_calls.ts';
import { keyProof, type KeyProof } from './_chat-proof.ts';
import { ai, type AiAdapter, type AiLine, type AiModel, type AiSpec } from './_contract.ts';
import type { Dialect } from './_dialect.ts';
import { listedModels } from './_models.ts';
import { type FailureBySentence, openaiError } from './_openai-error.ts';

/** The fields of every brand. */
export const apiKey = secret('API key');
export const baseUrl = text('Base URL', {
  required: false,
  form: 'url',
  help: 'Empty for the usual server; else that of another region, or of a proxy',
});

/** A bearer token, as most brands take their key. */
export const bearer = { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' } as const;

interface Quirks {
  /** Default: `max_tokens`. */
  lengthField?: 'max_completion_tokens';
  /** Models that are not known to take a schema are asked for objects so. Default: `schema`. */
  objects?: ReturnType<Dialect['objects']>;
  /** Messages are texts, not lists of parts. */
  plainMessages?: true;
  /** Fields of every body. */
  body?: Readonly<Record<string, unknown>>;
  query?: Readonly<Record<string, string>>;
  /** Place of the cost in the usage, and dollars of one unit of it. */
  cost?: { at: readonly string[]; dollars: number };
  /** Path and form of what the provider says later about a call, by its id; each answer asks once, unless it has `cost`. */
  costLookUp?: { path: string; says: z.ZodType<Cost> };
  /** Field of the usage with the cached tokens. Default: that of OpenAI. */
  cachedAt?: string;
  /** Tokens of reasoning are counted beside those of the answer, not among them. */
  reasoningBeside?: true;
  ends?: Dialect['ends'];
  /** Path of the list of models; null where there is none. Default: `/models`. */
  list?: string | null;
  /** The usage of a stream comes unasked, and asking for it is refused. */
  streamUsage?: 'unasked';
  /** Further headers of every call. */
  headers?: (line: AiLine) => Readonly<Record<string, string>>;
}

type Own = 'version' | 'authType' | 'credentials' | 'connect' | 'check' | 'auth';
interface Brand extends Omit<AiSpec<Fields>, Own> {
  /** Beside the key and the base URL; what is named alike replaces them. */
  credentials?: Fields;
  /** Words for failures in `code` or `type` of an error, beside those of OpenAI. */
  codes?: FailureByCode;
  /** Failures that its codes do not tell. */
  sentences?: readonly FailureBySentence[];
  /** Default: `bearer`. */
  auth?: readonly Auth[];
  quirks?: Quirks;
  verify: KeyProof;
}

/** The usual field for the greatest number of tokens. */
const LENGTH: string = 'max_tokens';

/** Somebody waits for the answer meanwhile: what it cost is asked for in this time, and as a call that is not repeated. */
const AT_ONCE = { timeoutMs: 2_000, creates: true } as const;
/** Nobody waits for it, but others do for their cost. */
const LATER = { timeoutMs: 5_000 } as const;

/** Declares a brand of the protocol that OpenAI's `/chat/completions` has become. */
export function openaiChat(brand: Brand): AiAdapter {
  const { credentials, quirks = {}, verify, auth = [bearer], codes, sentences, ...manifest } = brand;
  const { lengthField = LENGTH, list = '/models', costLookUp } = quirks;
  const listModels = manifest.listModels ?? (list === null ? undefined : listedModels(list));

  const laterCostOf =
    costLookUp &&
    (({ http }: AiLine, id: string, how: Pick<Call, 'timeoutMs' | 'creates'>) =>
      http.find(costLookUp.path, costLookUp.says, { query: { id }, ...how }));

  return ai<Fields>({
    errorOf: openaiError(codes, sentences),
    ...manifest,
    version: 'v1',
    authType: 'api_key',
    credentials: { apiKey, baseUrl, ...credentials },
    apiBy: { baseUrl: '{baseUrl}', ...manifest.apiBy },
    auth,
    ...(listModels && { listModels }),
    check: keyProof(verify, { listModels, lengthField }),
    connect: (line) =>
      callsOf(line, {
        title: manifest.title,
        objects: (model) => waysOf(manifest.models, model) ?? quirks.objects ?? 'schema',
        open: (send) =>
          openaiChatModels({
            base: line.base,
            fetch: withHeaders(send, quirks.headers?.(line)),
            isUsageAsked: quirks.streamUsage === undefined,
            written: (body) => written(body, quirks),
            ...(quirks.query && { query: quirks.query }),
          }),
        costOf: (usage, id) =>
          statedCost(usage, quirks) ??
          (id === undefined || quirks.cost ? undefined : laterCostOf?.(line, id, AT_ONCE).catch(() => undefined)), // the price of the table counts until then
        ...(laterCostOf && { laterCostOf: (id: string) => laterCostOf(line, id, LATER) }),
        usageOf: (usage, raw) => ({
          ...usage,
          ...(quirks.cachedAt !== undefined && cachedIn(raw, quirks.cachedAt)),
          ...(quirks.reasoningBeside &&
            usage.outputTokens !== undefined && { outputTokens: usage.outputTokens + (usage.reasoningTokens ?? 0) }),
        }),
        ...(quirks.ends && { ends: quirks.ends }),
      }),
  });
}

/** Of a known model: whether it takes a schema. */
function waysOf(models: readonly AiModel[], id: string): 'schema' | undefined {
  return models.find((model) => model.id === id)?.kinds.includes('object') ? 'schema' : undefined;
}

const withHeaders = (
  send: typeof globalThis.fetch,
  headers: Readonly<Record<string, string>> | undefined,
): typeof globalThis.fetch =>
  headers
    ? (input, init) =>
        send(input, { ...init, headers: { ...Object.fromEntries(new Headers(init?.headers)), ...headers } })
    : send;

function written(
  { max_tokens: most, messages, ...body }: Record<string, unknown>,
  { lengthField, plainMessages, body: constant }: Quirks,
): Record<string, unknown> {
  const said = messages as { role: string; content: unknown }[];
  return {
    ...body,
    messages: plainMessages ? said.map((one) => ({ ...one, content: plainOf(one.content) })) : said,
    ...(most !== undefined && { [lengthField ?? LENGTH]: most }),
    ...constant,
  };
}
const plainOf = (content: unknown): unknown =>
  Array.isArray(content) ? content.map((part) => String(Object(part).text ?? '')).join('\n') : content;

function statedCost(usage: unknown, { cost }: Quirks): Cost | undefined {
  const amount = cost?.at.reduce<unknown>((at, name) => Object(at)[name], usage);
  const dollars = typeof amount === 'string' ? Number(amount) : amount;
  return typeof dollars === 'number' && Number.isFinite(dollars) ? replyCost(dollars * cost!.dollars) : undefined;
}
/** What the hubs say later about one call. */
export const LATER_COST = z
  .object({ data: z.object({ total_cost: z.number() }) })
  .transform(({ data }): Cost => ({ ...replyCost(data.total_cost), source: 'price_api' }));

/** A cost that a reply tells, in dollars; rounded up like every other. */
const replyCost = (dollars: number): Cost => ({
  micros: Math.ceil(Number((dollars * 1_000_000).toFixed(6))),
  source: 'reply',
});

function cachedIn(raw: unknown, name: string): { cachedTokens?: number } {
  const cached: unknown = Object(raw)[name];
  return typeof cached === 'number' && cached > 0 ? { cachedTokens: cached } : {};
}
