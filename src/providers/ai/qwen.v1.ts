import { text } from '../kit/declare/fields.ts';
import { chatModel, embeddingModel } from './_models.ts';
import { openaiChat } from './_openai-chat.ts';

/** https://www.alibabacloud.com/help/en/model-studio */
export default openaiChat({
  id: 'qwen',
  status: 'active',
  kind: 'direct',
  title: 'Qwen (Alibaba Model Studio)',
  description: 'Qwen models of Alibaba.',
  website: 'https://www.alibabacloud.com/product/modelstudio',
  setupNotes:
    'Make a key in the Model Studio console; it belongs to one region. The usual server is that of Singapore; Beijing: https://dashscope.aliyuncs.com/compatible-mode/v1, Virginia: https://dashscope-us.aliyuncs.com/compatible-mode/v1. Its test asks a question of one token.',
  api: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
  credentials: {
    workspaceId: text('Workspace ID', {
      required: false,
      validation: '[A-Za-z0-9-]{1,63}',
      help: 'For the server of a workspace in Singapore',
    }),
  },
  apiBy: { workspaceId: 'https://{workspaceId}.ap-southeast-1.maas.aliyuncs.com/compatible-mode/v1' },
  codes: {
    InvalidApiKey: 'reauthorize',
    'Model.AccessDenied': 'reauthorize',
    Arrearage: 'exhausted',
    'AllocationQuota.FreeTierOnly': 'exhausted',
    DataInspectionFailed: 'rejected',
    data_inspection_failed: 'rejected',
  },
  models: [
    chatModel('qwen-flash', 1_000_000, 'tools'),
    chatModel('qwen-plus', 1_000_000, 'tools'),
    chatModel('qwen3.7-plus', 1_000_000, 'vision', 'tools'),
    chatModel('qwen3.7-max', 1_000_000, 'tools'),
    embeddingModel('text-embedding-v4'),
  ],
  quirks: { objects: 'json' },
  verify: { ask: 'qwen-flash' },
});
