import { z } from 'zod';
import { secret, text } from '../kit/declare/fields.ts';
import { askOnce } from './_chat-proof.ts';
import type { AiLine } from './_contract.ts';
import { chatModel, listedModels } from './_models.ts';
import { openaiChat } from './_openai-chat.ts';

const Headers = z.record(z.string().regex(/^[A-Za-z0-9-]{1,64}$/), z.string().regex(/^[\x20-\x7e]{0,1000}$/));

function headersIn(json: string): Readonly<Record<string, string>> | undefined {
  try {
    return Headers.safeParse(JSON.parse(json)).data;
  } catch {
    return undefined;
  }
}
function headersOf({ values, hide }: AiLine): Readonly<Record<string, string>> {
  const headers = (values['headers'] === undefined ? undefined : headersIn(values['headers'])) ?? {};
  for (const value of Object.values(headers)) hide(value);
  return headers;
}
const typedModels = ({ values }: AiLine): string[] =>
  (values['models'] ?? '').split(',').flatMap((id) => id.trim() || []);

/** https://platform.openai.com/docs/api-reference/chat, by servers of others: vLLM, Ollama, LM Studio, proxies */
export default openaiChat({
  id: 'openai-compatible',
  status: 'active',
  kind: 'hub',
  title: 'OpenAI-compatible server',
  description: 'Any server that speaks the protocol of OpenAI, such as vLLM, Ollama, LM Studio or a proxy.',
  setupNotes:
    'The address is that before /chat/completions, with https; servers in private networks need SSRF_ALLOWED_PRIVATE_CIDRS of the operator. Prices of its models are set in the field Prices.',
  credentials: {
    apiKey: secret('API key', { required: false, help: 'Empty where the server needs none' }),
    baseUrl: text('Base URL', { form: 'url', help: 'Like https://models.example/v1' }),
    headers: secret('Further headers', {
      required: false,
      help: 'As JSON: {"x-team": "posts"}',
      fault: (json) => (headersIn(json) ? undefined : 'is no JSON object of headers'),
    }),
    models: text('Models', { required: false, help: 'Ids, separated by commas, where the server has no list' }),
  },
  api: '{baseUrl}',
  models: [],
  kinds: ['text', 'vision', 'tools', 'object', 'embedding'],
  quirks: { headers: headersOf, objects: 'json' },
  /** Ids that were typed come first; a server without a list has no others. */
  listModels: async (line) => {
    const typed = typedModels(line);
    return typed.length > 0
      ? typed.map((id) => chatModel(id, undefined))
      : listedModels('/models', { headers: headersOf(line) })(line);
  },
  /** Many of these servers list their models to anybody, so that the list proves no key; without one a question does. */
  verify: async (line) => {
    const headers = headersOf(line);
    const hasKey = [line.values['apiKey'], line.values['headers']].some((value) => value !== undefined);
    const listed = await line.http.find('/models', z.unknown(), { headers });
    if (listed !== undefined)
      return hasKey
        ? 'The server lists its models; the key was not proven, since it may list them to anybody'
        : 'The server lists its models';
    const model = line.values['textModel'] ?? typedModels(line)[0];
    if (model === undefined)
      return 'The server answers, but has no list of models: without the id of one the key was not proven';
    const proof = await askOnce(line, { model, lengthField: 'max_tokens', headers });
    return hasKey ? proof : 'The server answers a question';
  },
});
