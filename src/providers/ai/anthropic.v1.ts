import { anthropicMessages } from './_anthropic-messages.ts';
import { chatModel, listedModels, provenByList } from './_models.ts';

const claude = (id: string, context?: number) => chatModel(id, context, 'vision', 'tools', 'object');

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
  listModels: listedModels('/models?limit=1000', { kinds: ['vision', 'tools', 'object'] }),
  check: provenByList('/models?limit=1'),
});
