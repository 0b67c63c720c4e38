import type { Cost, CallUsage } from '../kit/declare/cost.ts';
import type { LanguageModel, LanguageModels } from '../kit/protocols/language-models.ts';
import type { AiEnd } from './_contract.ts';

/** A question to a model, and its answer, as the clients of the protocols have them. */
export type ModelQuestion = Parameters<LanguageModel['doGenerate']>[0];
export type ModelAnswer = Awaited<ReturnType<LanguageModel['doGenerate']>>;
/** The usage as it was sent. */
export type RawUsage = ModelAnswer['usage']['raw'];

/** A protocol as one brand speaks it. */
export interface Dialect {
  title: string;
  open(fetch: typeof globalThis.fetch, model: string): Promise<LanguageModels>;
  /** How a model is told the form of an object: by a schema of the protocol, as any JSON, or in words alone. */
  objects(model: string): 'schema' | 'json' | 'words';
  /** Reads the cost from the usage of an answer, or asks for that of the call with this id. */
  costOf?(usage: RawUsage, id: string | undefined): Cost | undefined | Promise<Cost | undefined>;
  /** Asks later for the cost of the call with this id. */
  laterCostOf?(id: string): Promise<Cost | undefined>;
  /** Corrects the counted tokens from the usage as it was sent, where the protocol's own reading misses some. */
  usageOf?(usage: CallUsage, raw: RawUsage): CallUsage;
  /** Reasons for an end that the protocol does not know. */
  ends?: Readonly<Record<string, AiEnd | 'unavailable'>>;
  embedOptions?: NonNullable<ModelQuestion['providerOptions']>;
}
