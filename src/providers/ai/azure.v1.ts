import { text } from '../kit/declare/fields.ts';
import { openaiChat } from './_openai-chat.ts';

/** https://learn.microsoft.com/azure/foundry/openai */
export default openaiChat({
  id: 'azure',
  status: 'active',
  kind: 'hub',
  title: 'Azure OpenAI',
  description: 'Models that are deployed in your own Azure resource.',
  website: 'https://azure.microsoft.com/products/ai-foundry',
  setupNotes:
    'Keys and Endpoint page of the resource. The name of a deployment is the id of its model; its price is set in the field Prices.',
  api: 'https://{resourceName}.openai.azure.com/openai/v1',
  credentials: {
    resourceName: text('Resource name', {
      required: false,
      validation: '[A-Za-z0-9][A-Za-z0-9-]{1,62}',
      help: 'The first part of https://name.openai.azure.com',
    }),
    baseUrl: text('Base URL', {
      required: false,
      form: 'url',
      help: 'In the place of the resource name, like https://name.services.ai.azure.com/openai/v1',
    }),
  },
  oneOf: [['resourceName'], ['baseUrl']],
  auth: [{ in: 'header', name: 'api-key', field: 'apiKey' }],
  models: [],
  kinds: ['text', 'vision', 'tools', 'object', 'embedding'],
  quirks: { query: { 'api-version': 'v1' }, list: '/models?api-version=v1', lengthField: 'max_completion_tokens' },
  verify: 'models',
});
