import { chatModel } from './_models.ts';
import { openaiChat } from './_openai-chat.ts';

/** https://dev.meta.ai/docs/overview */
export default openaiChat({
  id: 'meta-llama',
  status: 'active',
  kind: 'direct',
  title: 'Meta (Model API)',
  description: 'Models of Meta, after the Llama API.',
  website: 'https://dev.meta.ai',
  setupNotes:
    'Make a key at dev.meta.ai. Meta calls this API a public preview, open in some countries. The Llama API before it ended on 2026-07-06; open Llama models are at Groq, Together AI, DeepInfra, Bedrock and Vertex AI.',
  api: 'https://api.meta.ai/v1',
  models: [
    chatModel('muse-spark-1.3', undefined, 'tools'),
    chatModel('muse-spark-1.2', undefined, 'tools'),
    chatModel('muse-spark-1.1', undefined, 'tools'),
  ],
  quirks: { objects: 'json' },
  verify: 'models',
});
