import { secret, text } from '../kit/declare/fields.ts';
import { listAt } from './_account.ts';
import { media, ONE_SOUND, sentFiles } from './_contract.ts';
import { openaiErrorOf, openaiMedia } from './_openai-media.ts';

const sizes = ['1024x1024', '1536x1024', '1024x1536'];
const picture = { promptLength: 32_000, sizes, count: 10 };

/** https://learn.microsoft.com/azure/foundry/openai/; a model is the name of a deployment. */
export default media({
  id: 'azure',
  version: 'v1',
  status: 'active',
  title: 'Azure OpenAI',
  description: 'Deployments of models for pictures, speech and transcriptions in your own Azure resource.',
  website: 'https://azure.microsoft.com/products/ai-foundry',
  authType: 'api_key',
  setupNotes: 'Models are the names of your deployments: set one for each purpose, with its price.',
  credentials: {
    endpoint: text('Endpoint', {
      form: 'origin',
      help: 'https://<resource>.openai.azure.com, or services.ai.azure.com',
    }),
    apiKey: secret('API key', { help: 'A key of the resource' }),
  },
  api: '{endpoint}/openai/v1',
  auth: { in: 'header', name: 'api-key', field: 'apiKey' },
  errorOf: openaiErrorOf,
  hub: true,
  anyModel: {
    id: /^[\w.-]+$/,
    operations: {
      image: picture,
      edit: { ...picture, sources: sentFiles(1, 16, 'image') },
      speech: { promptLength: 4_096, voices: 'any' },
      transcription: ONE_SOUND,
    },
  },
  connect: openaiMedia(),
  check: listAt('/models', 'data'),
});
