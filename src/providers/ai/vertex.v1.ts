import { z } from 'zod';
import { secret, text } from '../kit/declare/fields.ts';
import { keyFileFault, serviceAccountToken } from '../kit/protocols/service-account.ts';
import { ai, type AiCalls, type AiLine, type EmbedRequest } from './_contract.ts';
import { gemini, geminiCalls, googleError } from './_gemini.ts';
import { embeddingModel } from './_models.ts';

const title = 'Google Vertex AI';
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const CHECKED = 'gemini-3.1-flash-lite';
const Counted = z.object({ totalTokens: z.number() });
const Predicted = z.object({
  predictions: z
    .array(
      z.object({
        embeddings: z.object({ values: z.array(z.number()), statistics: z.object({ token_count: z.number() }) }),
      }),
    )
    .length(1),
});

/** The address of Google's models, and the headers of a call: a token of the account, or none beside the key. */
function placeOf(line: AiLine) {
  const { project, location, serviceAccountJson: json } = line.values;
  const isGlobal = location === undefined || location === 'global';
  const host = isGlobal ? line.hosts['global']! : line.base;
  const token =
    json === undefined ? undefined : serviceAccountToken(line, { json, address: line.hosts['token']!, scope: SCOPE });
  const path = token ? `/v1/projects/${project}/locations/${location ?? 'global'}` : '/v1';
  const headers = async (): Promise<Record<string, string>> =>
    token ? { authorization: `Bearer ${await token()}` } : {};
  return { base: `${host}${path}/publishers/google`, headers };
}

/** One text a call, which every model takes. */
async function embed(line: AiLine, { base, headers }: ReturnType<typeof placeOf>, { model, values }: EmbedRequest) {
  const vectors: number[][] = [];
  let inputTokens = 0;
  for (const content of values) {
    const { predictions } = await line.http.post(`${base}/models/${model}:predict`, Predicted, {
      json: { instances: [{ content }] },
      headers: await headers(),
      creates: true,
    });
    const { embeddings } = predictions[0]!;
    vectors.push(embeddings.values);
    inputTokens += embeddings.statistics.token_count;
  }
  return { vectors, model, usage: { inputTokens } };
}

/** https://docs.cloud.google.com/vertex-ai/generative-ai/docs */
export default ai({
  id: 'vertex',
  version: 'v1',
  status: 'active',
  kind: 'hub',
  title,
  description: 'Gemini models in your own Google Cloud project.',
  website: 'https://cloud.google.com/vertex-ai',
  authType: 'service_account',
  setupNotes:
    'A service account with the role Vertex AI User, its project, and the key file as JSON; or an API key of the express mode alone.',
  credentials: {
    project: text('Project ID', { required: false, validation: '[a-z][a-z0-9:.-]{4,62}' }),
    location: text('Location', {
      required: false,
      validation: '[a-z0-9-]{2,30}',
      help: 'Like us-central1; empty for global',
    }),
    serviceAccountJson: secret('Service account key (JSON)', {
      required: false,
      maxLength: 8_192,
      fault: keyFileFault,
    }),
    apiKey: secret('API key of the express mode', { required: false }),
  },
  oneOf: [['project', 'serviceAccountJson'], ['apiKey']],
  api: 'https://{location}-aiplatform.googleapis.com',
  hosts: { global: 'https://aiplatform.googleapis.com', token: 'https://oauth2.googleapis.com/token' },
  auth: { in: 'header', name: 'x-goog-api-key', field: 'apiKey', host: 'global' },
  errorOf: z.union([
    z.object({ error: z.enum(['invalid_grant', 'invalid_client']) }).transform(() => 'reauthorize' as const),
    googleError(),
  ]),
  models: [
    gemini('gemini-3.1-flash-lite', 1_048_576),
    gemini('gemini-3.5-flash', 1_048_576),
    gemini('gemini-3.1-pro-preview', 1_048_576),
    embeddingModel('gemini-embedding-001', 2_048),
  ],
  connect(line): AiCalls {
    const place = placeOf(line);
    return {
      ...geminiCalls(line, { title, ...place }),
      embed: (request) => embed(line, place, request),
    };
  },
  /** Counting tokens is free, and needs the rights that questions need. */
  async check(line) {
    const { base, headers } = placeOf(line);
    const json = { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] };
    await line.http.post(`${base}/models/${CHECKED}:countTokens`, Counted, { json, headers: await headers() });
    return 'The key is accepted';
  },
});
