import type { EmbeddingModelV4, LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { PLACEHOLDER_KEY } from '../wire/web-fetch.ts';

// The clients of the protocols of language models, each loaded by its first call. They get a `fetch` of the line, which
// adds the credentials: what they ask for as a key is a placeholder. Nothing is repeated here, and they are given no
// addresses to load from.

export type { LanguageModelV4 as LanguageModel } from '@ai-sdk/provider';
export type StreamPart = LanguageModelV4StreamPart;

/** The models of one provider by their ids. */
export interface LanguageModels {
  language(id: string): LanguageModelV4;
  /** Absent where the protocol has no embeddings. */
  embedding?(id: string): EmbeddingModelV4;
}
interface Place {
  base: string;
  fetch: typeof globalThis.fetch;
}

interface ChatOptions extends Place {
  query?: Record<string, string>;
  /** The usage of a stream has to be asked for. */
  isUsageAsked: boolean;
  /** Rewrites the body of a question, where a provider names fields otherwise. */
  written(body: Record<string, unknown>): Record<string, unknown>;
}
/** Loads the client of `/chat/completions` and `/embeddings`, which many brands speak. */
export async function openaiChatModels({
  base,
  fetch,
  query,
  isUsageAsked,
  written,
}: ChatOptions): Promise<LanguageModels> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  const models = createOpenAICompatible({
    name: 'openaiCompatible',
    baseURL: base,
    fetch,
    includeUsage: isUsageAsked,
    supportsStructuredOutputs: true, // a question without a schema asks for any JSON
    transformRequestBody: written,
    ...(query && { queryParams: query }),
  });
  return { language: (id) => models.chatModel(id), embedding: (id) => models.embeddingModel(id) };
}

/** Loads the client of Anthropic's `/messages`. */
export async function anthropicModels({ base, fetch }: Place): Promise<LanguageModels> {
  const { createAnthropic } = await import('@ai-sdk/anthropic');
  const models = createAnthropic({ baseURL: base, apiKey: PLACEHOLDER_KEY, fetch });
  return { language: (id) => models.languageModel(id) };
}

/** Loads the client of Gemini's `:generateContent`. */
export async function geminiModels({ base, fetch }: Place): Promise<LanguageModels> {
  const { createGoogle } = await import('@ai-sdk/google');
  const models = createGoogle({ baseURL: base, apiKey: PLACEHOLDER_KEY, fetch });
  return { language: (id) => models.languageModel(id), embedding: (id) => models.embeddingModel(id) };
}

/** Loads the client of Bedrock's `/converse`. */
export async function bedrockModels({ base, fetch }: Place): Promise<LanguageModels> {
  const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock');
  const models = createAmazonBedrock({ baseURL: base, apiKey: PLACEHOLDER_KEY, region: 'none', fetch });
  return { language: (id) => models.languageModel(id), embedding: (id) => models.embeddingModel(id) };
}

/** Loads the client of Cohere's `/v2/chat` and `/v2/embed`. */
export async function cohereModels({ base, fetch }: Place): Promise<LanguageModels> {
  const { createCohere } = await import('@ai-sdk/cohere');
  const models = createCohere({ baseURL: base, apiKey: PLACEHOLDER_KEY, fetch });
  return { language: (id) => models.languageModel(id), embedding: (id) => models.embeddingModel(id) };
}
