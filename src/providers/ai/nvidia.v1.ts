import { chatModel, embeddingModel } from './_models.ts';
import { openaiChat } from './_openai-chat.ts';

/** https://docs.api.nvidia.com/nim */
export default openaiChat({
  id: 'nvidia',
  status: 'active',
  kind: 'hub',
  title: 'NVIDIA NIM',
  description: 'Open models at NVIDIA, for evaluation; or a server of your own.',
  website: 'https://build.nvidia.com',
  setupNotes:
    "Make a key at build.nvidia.com. The endpoints there are for evaluation by NVIDIA's terms; a NIM server of your own is set by its base URL. Its test asks a question of one token.",
  api: 'https://integrate.api.nvidia.com/v1',
  models: [
    chatModel('openai/gpt-oss-120b', 128_000, 'tools', 'object'),
    chatModel('deepseek-ai/deepseek-v4-pro', 1_048_576, 'tools', 'object'),
    chatModel('minimaxai/minimax-m3', 1_000_000, 'vision', 'tools'),
    embeddingModel('baai/bge-m3', 8_192),
  ],
  quirks: { objects: 'json' },
  verify: { ask: 'openai/gpt-oss-120b' },
});
