import type { Adapter, Manifest } from '../kit/declare/adapter.ts';
import { choiceFields, pricesField } from '../kit/declare/choices.ts';
import type { Cost, CallUsage } from '../kit/declare/cost.ts';
import type { Fields } from '../kit/declare/fields.ts';
import type { Line } from '../kit/declare/line.ts';

export const AI_KINDS = ['text', 'vision', 'tools', 'object', 'embedding'] as const;
export type AiKind = (typeof AI_KINDS)[number];
/** The purposes for which an owner can make a setting of this domain the default. */
const AI_PURPOSES = ['text', 'vision', 'embedding'] as const;
export type AiPurpose = (typeof AI_PURPOSES)[number];

/** A model and what it can do. `context`: tokens of input and output together, where known. */
export interface AiModel {
  id: string;
  kinds: readonly AiKind[];
  context?: number;
}

/** A part of what a person or the model said. Pictures are bytes, never addresses: a library would fetch those itself. */
export type AiPart = { type: 'text'; text: string } | { type: 'image'; mediaType: string; bytes: Uint8Array };
export interface AiTurn {
  role: 'user' | 'assistant';
  parts: readonly AiPart[];
}

/** A question to a model. The instruction and what people wrote are apart: their words are data, never instruction. */
export interface TextRequest {
  model: string;
  instruction?: string;
  turns: readonly AiTurn[];
  /** Greatest number of tokens of the answer; the greatest cost of the call is counted from it. */
  maxTokens: number;
  temperature?: number;
  /** Is told the name by which `costOf` finds this call, once the provider has said it: also of an answer that is cut. */
  named?(callId: string): void;
}
/** `schema` is a JSON Schema; the answer is checked against it. */
export interface ObjectRequest extends TextRequest {
  schema: Readonly<Record<string, unknown>>;
}
export interface EmbedRequest {
  model: string;
  values: readonly string[];
}

/** Why an answer ended. `length` and `filter` are told to the caller: the text is not whole. */
export type AiEnd = 'stop' | 'length' | 'filter' | 'other';

/** What every answer tells beside its content. */
export interface AiAnswer {
  /** The model as the provider names it in its answer. */
  model: string;
  usage: CallUsage;
  /** Absent where neither the answer nor a price tells it. */
  cost?: Cost;
}
export interface TextAnswer extends AiAnswer {
  text: string;
  end: AiEnd;
}
/**
 * `object` is undefined where the answer is none of the form: it ended early (`length`, `filter`), or was wrong twice
 * (`other`). It was paid for all the same.
 */
export interface ObjectAnswer extends AiAnswer {
  object: unknown;
  end: AiEnd;
}
export interface Embeddings extends AiAnswer {
  vectors: readonly (readonly number[])[];
}
/** A stream is pieces of text and at last `done` with the whole; a stream that is cut throws and never says `done`. */
export type TextEvent = { type: 'text'; text: string } | ({ type: 'done' } & TextAnswer);

/** The calls of one protocol with its owner's key; costs are those that the answer itself tells. */
export interface AiCalls {
  text(request: TextRequest, signal?: AbortSignal): Promise<TextAnswer>;
  /** Aborting the signal, or leaving the loop, ends the call at the provider. */
  stream(request: TextRequest, signal?: AbortSignal): AsyncIterable<TextEvent>;
  object(request: ObjectRequest, signal?: AbortSignal): Promise<ObjectAnswer>;
  /**
   * Asks what a call has cost, by the name that `named` was told; undefined where the provider does not know it (yet).
   * Absent where it cannot be asked.
   */
  costOf?(callId: string): Promise<Cost | undefined>;
  /** Absent where the protocol has no embeddings. */
  embed?(request: EmbedRequest, signal?: AbortSignal): Promise<Embeddings>;
}
/**
 * A provider of language models. Failures are `ProviderError`s: `reauthorize` for the key, `exhausted` for quota or
 * balance, `rate_limited` with its wait, `rejected` for the content or a parameter, `unavailable` when a repeat costs
 * nothing, `lost` when an answer that may have been paid for did not come. Nothing is repeated here.
 */
export interface Ai extends AiCalls {
  /** Lists the models that the key can use, as far as the provider lists them, and those that are known. */
  models(): Promise<readonly AiModel[]>;
  /**
   * Answers the greatest cost that a request can have: its input counted, its output by `maxTokens`. Undefined: the
   * model has no price.
   */
  estimate(request: TextRequest | EmbedRequest): Cost | undefined;
}

export type AiLine<F extends Fields = Fields> = Line<'http' | 'webFetch', F>;
export interface AiFacts {
  /** `direct`: models of one maker. `hub`: of many. */
  kind: 'direct' | 'hub';
  kinds: readonly AiKind[];
  /** Known models, the default one of each kind first. */
  models: readonly string[];
}

export interface AiSpec<F extends Fields> extends Manifest<F> {
  kind: AiFacts['kind'];
  /** Models that are known before the provider was asked, the default one of each kind first. */
  models: readonly AiModel[];
  /** Kinds of models that the owner's own server or account may have, where none is known before. */
  kinds?: readonly AiKind[];
  /** One of these groups of fields must be complete. */
  oneOf?: readonly (readonly string[])[];
  /** Absent where the provider lists no models. */
  listModels?(line: AiLine<F>): Promise<readonly AiModel[]>;
  connect(line: AiLine<F>): AiCalls;
  check?(line: AiLine<F>): Promise<string | void>;
}
export type AiAdapter<F extends Fields = Fields> = Omit<AiSpec<F>, 'kind' | 'kinds' | 'oneOf'> &
  Adapter<'ai', AiFacts, AiLine<F>, F>;

/**
 * Failures by status, where they differ from those of other calls that cost money: a provider that says so has made
 * nothing, and charges nothing. After 408, 504 and 524, where a server in between gave up, it may have.
 */
const STATED = {
  403: 'reauthorize',
  409: 'unavailable',
  500: 'unavailable',
  502: 'unavailable',
  503: 'unavailable',
  529: 'unavailable',
  524: 'lost',
} as const;

/** Declares a provider of language models: an organization or the operator sets its key. */
export const ai = <const F extends Fields>({ kind, kinds: own = [], oneOf, ...spec }: AiSpec<F>): AiAdapter => {
  const kinds = AI_KINDS.filter((one) =>
    [own, ...spec.models.map((model) => model.kinds)].some((all) => all.includes(one)),
  );
  const adapter: AiAdapter<F> = {
    ...spec,
    errors: { ...STATED, ...spec.errors },
    domain: 'ai',
    capabilities: kinds,
    facts: { kind, kinds, models: spec.models.map(({ id }) => id) },
    setup: {
      fields: { ...spec.credentials, ...choiceFields(AI_PURPOSES), prices: pricesField },
      owners: ['instance', 'org'],
      ...(oneOf && { oneOf }),
    },
  };
  return adapter as unknown as AiAdapter; // the registry checks values against the fields
};
