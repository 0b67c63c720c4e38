import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { cohereModels } from '../kit/protocols/language-models.ts';
import { callsOf } from './_calls.ts';
import { ai } from './_contract.ts';
import { chatModel, embeddingModel } from './_models.ts';
import { apiKey, baseUrl, bearer } from './_openai-chat.ts';

const title = 'Cohere';
const Models = z
  .object({
    models: z.array(
      z.object({
        name: z.string(),
        endpoints: z.array(z.string()).catch([]),
        context_length: z.number().optional().catch(undefined),
      }),
    ),
  })
  .transform(({ models }) =>
    models.flatMap(({ name, endpoints, context_length: context }) => {
      if (endpoints.includes('embed')) return embeddingModel(name, context);
      return endpoints.includes('chat') ? chatModel(name, context) : [];
    }),
  );
const Valid = z.object({ valid: z.boolean() });
/** What is paid for; the tokens beside it count what Cohere adds. */
const Billed = z.object({ billed_units: z.object({ input_tokens: z.number(), output_tokens: z.number() }) });

/** https://docs.cohere.com/reference/chat */
export default ai({
  id: 'cohere',
  version: 'v1',
  status: 'active',
  kind: 'direct',
  title,
  description: 'Command models and embeddings.',
  website: 'https://cohere.com',
  authType: 'api_key',
  setupNotes: 'Make a key at dashboard.cohere.com > API keys.',
  credentials: { apiKey, baseUrl },
  api: 'https://api.cohere.com',
  apiBy: { baseUrl: '{baseUrl}' },
  auth: bearer,
  errors: { 498: 'rejected', 499: 'unavailable', 501: 'rejected' }, // a word that is not allowed; given up; not there
  models: [
    chatModel('command-r7b-12-2024', 128_000, 'tools', 'object'),
    chatModel('command-a-03-2025', 256_000, 'tools', 'object'),
    chatModel('command-a-plus-05-2026', 128_000, 'vision', 'tools', 'object'),
    embeddingModel('embed-multilingual-v3.0', 512),
  ],
  listModels: ({ http }) => http.get('/v1/models', Models, { query: { page_size: '1000' } }),
  connect: (line) =>
    callsOf(line, {
      title,
      objects: () => 'schema',
      open: (fetch) => cohereModels({ base: `${line.base}/v2`, fetch }),
      usageOf(usage, raw) {
        const { data } = Billed.safeParse(raw);
        return data
          ? { ...usage, inputTokens: data.billed_units.input_tokens, outputTokens: data.billed_units.output_tokens }
          : usage;
      },
      ends: { TIMEOUT: 'unavailable' },
      embedOptions: { cohere: { inputType: 'search_document' } },
    }),
  async check({ http }) {
    const { valid } = await http.post('/v1/check-api-key', Valid);
    if (!valid) throw refused('reauthorize', 'Cohere does not know this key');
    return 'The key is accepted';
  },
});
