import { z } from 'zod';
import { anthropicMessages } from './_anthropic-messages.ts';
import { chatModel } from './_models.ts';

const claude = (id: string, context?: number) => chatModel(id, context, 'vision', 'tools', 'object');
const Models = z
  .object({ data: z.array(z.object({ id: z.string() })) })
  .transform(({ data }) => data.map(({ id }) => claude(id)));

/** https://platform.claude.com/docs/en/api/messages/create */
export default anthropicMessages({
  id: 'anthropic',
  status: 'active',
  kind: 'direct',
  title: 'Anthropic',
  description: 'Claude models.',
  website: 'https://www.anthropic.com',
  setupNotes: 'Make a key in the Console > API keys.',
  api: 'https://api.anthropic.com/v1',
  models: [
    claude('claude-haiku-4-5', 200_000),
    claude('claude-sonnet-5', 1_000_000),
    claude('claude-haiku-5-5'),
    claude('claude-sonnet-5-5'),
    claude('claude-opus-5-5'),
  ],
  listModels: ({ http }) => http.get('/models', Models, { query: { limit: '1000' } }),
  check: async ({ http }) => {
    await http.get('/models', Models, { query: { limit: '1' } });
    return 'The key is accepted';
  },
});
