import { chatModel } from './_models.ts';
import { openaiChat } from './_openai-chat.ts';

/** https://console.groq.com/docs */
export default openaiChat({
  id: 'groq',
  status: 'active',
  kind: 'hub',
  title: 'Groq',
  description: 'Open models on chips of its own, served fast.',
  website: 'https://groq.com',
  setupNotes: 'Make a key at console.groq.com > API keys.',
  api: 'https://api.groq.com/openai/v1',
  errors: { 498: 'unavailable' }, // the capacity of the flex tier
  codes: { json_validate_failed: 'unavailable', tool_use_failed: 'unavailable' }, // the next answer may be valid
  models: [
    chatModel('openai/gpt-oss-120b', 131_072, 'tools', 'object'),
    chatModel('openai/gpt-oss-20b', 131_072, 'tools', 'object'),
    chatModel('qwen/qwen3.6-27b', undefined, 'tools'),
    chatModel('llama-3.3-70b-versatile', 131_072, 'tools'),
  ],
  quirks: { objects: 'json' },
  verify: 'models',
});
