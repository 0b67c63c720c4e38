import { z } from 'zod';
import type { AiKind, AiLine, AiModel } from './_contract.ts';

/** Bytes of a list of models: a hub has hundreds, each with its description. */
const LIST_BYTES = 16 * 1024 * 1024;
/** Models of other kinds, by the words of their names: they make pictures, films and sound, or judge. */
const OTHER =
  /whisper|tts|audio|realtime|transcri|speech|image|dall-e|flux|sdxl|stable-diffusion|video|sora|veo|imagen|lyria|moderation|rerank|guard|ocr|computer-use|robotics|live|parakeet|canary|aqa|search-api/i;
const EMBEDDING = /embed|bge-|gte-|e5-/i;
const SEEING = /vision|-vl\b|vl-|4v|multimodal|omni/i;

/** A model for texts that are answered; `kinds` beside `text`: `object` for one that takes a JSON Schema. */
export const chatModel = (id: string, context: number | undefined, ...kinds: readonly AiKind[]): AiModel => ({
  id,
  kinds: ['text', ...kinds],
  ...(context !== undefined && { context }),
});
export const embeddingModel = (id: string, context?: number): AiModel => ({
  id,
  kinds: ['embedding'],
  ...(context !== undefined && { context }),
});

const List = z.array(z.string()).nullish().catch(undefined);
const Known = z.number().int().positive().nullish().catch(undefined);
/** A model in a list, with what some providers tell of it beside its id. */
const Listed = z.object({
  id: z.string().min(1).max(200),
  context_length: Known,
  context_window: Known,
  max_model_len: Known,
  max_context_length: Known,
  type: z.string().nullish().catch(undefined),
  architecture: z.object({ input_modalities: List, output_modalities: List }).nullish().catch(undefined),
  supported_parameters: List,
  capabilities: z
    .object({ completion_chat: z.boolean(), vision: z.boolean(), function_calling: z.boolean() })
    .partial()
    .nullish()
    .catch(undefined),
});
const Models = z
  .union([z.object({ data: z.array(z.unknown()) }).transform(({ data }) => data), z.array(z.unknown())])
  .transform((list) => list.flatMap((one) => modelOf(Listed.safeParse(one).data) ?? []));

/** What a listed model can do, as far as the list or its name tells; undefined for one of another kind. */
function modelOf(listed: z.output<typeof Listed> | undefined): AiModel | undefined {
  if (!listed) return undefined;
  const { id, architecture, capabilities, supported_parameters: parameters, type } = listed;
  const context =
    listed.context_length ?? listed.context_window ?? listed.max_model_len ?? listed.max_context_length ?? undefined;
  const outputs = architecture?.output_modalities;
  if (type === 'embedding' || outputs?.includes('embeddings') || EMBEDDING.test(id)) return embeddingModel(id, context);
  const isChat = capabilities?.completion_chat ?? (outputs ? outputs.includes('text') : !OTHER.test(id));
  if (!isChat) return undefined;
  const kinds: AiKind[] = [];
  const sees = architecture?.input_modalities?.includes('image') ?? capabilities?.vision ?? SEEING.test(id);
  if (sees) kinds.push('vision');
  if (parameters?.includes('tools') ?? capabilities?.function_calling) kinds.push('tools');
  if (parameters?.includes('structured_outputs')) kinds.push('object');
  return chatModel(id, context, ...kinds);
}

interface Listing {
  headers?: Readonly<Record<string, string>>;
  /** What each of them can do, where the list does not tell. */
  kinds?: readonly AiKind[];
}
/** Lists the models of a provider that lists them as OpenAI does. */
export const listedModels =
  (path: string, { headers = {}, kinds = [] }: Listing = {}) =>
  async ({ http }: Pick<AiLine, 'http'>): Promise<readonly AiModel[]> => {
    const listed = await http.get(path, Models, { headers, answerBytes: LIST_BYTES });
    return listed.map((model) => ({ ...model, kinds: [...new Set([...model.kinds, ...kinds])] }));
  };
/** Proves a key by such a list, which needs it. */
export const provenByList =
  (path: string) =>
  async (line: Pick<AiLine, 'http'>): Promise<string> => {
    await listedModels(path)(line);
    return 'The key is accepted';
  };
