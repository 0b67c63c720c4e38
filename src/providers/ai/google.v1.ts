import { z } from 'zod';
import { ai } from './_contract.ts';
import { gemini, geminiCalls, googleError } from './_gemini.ts';
import { embeddingModel } from './_models.ts';
import { apiKey, baseUrl } from './_openai-chat.ts';

const title = 'Google Gemini';
const Models = z
  .object({
    models: z.array(
      z.object({
        name: z.string().regex(/^models\//),
        inputTokenLimit: z.number().optional().catch(undefined),
        supportedGenerationMethods: z.array(z.string()).catch([]),
      }),
    ),
  })
  .transform(({ models }) =>
    models.flatMap(({ name, inputTokenLimit: context, supportedGenerationMethods: methods }) => {
      const id = name.slice('models/'.length);
      if (methods.includes('embedContent')) return embeddingModel(id, context);
      return methods.includes('generateContent') && !/image|tts|audio|live/.test(id) ? gemini(id, context) : [];
    }),
  );

/** https://ai.google.dev/api/generate-content */
export default ai({
  id: 'google',
  version: 'v1',
  status: 'active',
  kind: 'direct',
  title,
  description: 'Gemini models with a key of AI Studio.',
  website: 'https://ai.google.dev',
  authType: 'api_key',
  setupNotes: 'Make a key at aistudio.google.com > Get API key.',
  credentials: { apiKey, baseUrl },
  api: 'https://generativelanguage.googleapis.com/v1beta',
  apiBy: { baseUrl: '{baseUrl}' },
  auth: { in: 'header', name: 'x-goog-api-key', field: 'apiKey' },
  errorOf: googleError('FAILED_PRECONDITION'),
  models: [
    gemini('gemini-flash-latest', 1_048_576),
    gemini('gemini-3.5-flash', 1_048_576),
    gemini('gemini-3.5-flash-lite'),
    gemini('gemini-3.8-flash'),
    gemini('gemini-4-carbon'),
    embeddingModel('gemini-embedding-001', 2_048),
  ],
  listModels: ({ http }) => http.get('/models', Models, { query: { pageSize: '1000' }, answerBytes: 4 * 1024 * 1024 }),
  connect: (line) => geminiCalls(line, { title, base: line.base }),
  check: async ({ http }) => {
    await http.get('/models', Models, { query: { pageSize: '1' } });
    return 'The key is accepted';
  },
});
