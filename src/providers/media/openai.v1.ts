import { secret, text } from '../kit/declare/fields.ts';
import { listAt } from './_account.ts';
import { alike, media, ONE_SOUND, sentFiles } from './_contract.ts';
import { openaiErrorOf, openaiMedia } from './_openai-media.ts';

const sizes = ['1024x1024', '1536x1024', '1024x1536'];
const picture = { promptLength: 32_000, sizes, count: 10 };
const drawing = { image: picture, edit: { ...picture, sources: sentFiles(1, 16, 'image') } } as const;
const voices = ['alloy', 'ash', 'coral', 'echo', 'fable', 'nova', 'onyx', 'sage', 'shimmer'];
const speaking = { speech: { promptLength: 4_096, voices } };
/** The older models have none of the later voices. */
const speakingNow = { speech: { promptLength: 4_096, voices: [...voices, 'ballad', 'verse', 'marin', 'cedar'] } };

/** https://platform.openai.com/docs/api-reference; its API of videos has ended. */
export default media({
  id: 'openai',
  version: 'v1',
  status: 'active',
  title: 'OpenAI',
  description: 'Pictures by GPT Image, speech, and transcriptions.',
  website: 'https://openai.com',
  authType: 'api_key',
  credentials: {
    apiKey: secret('API key', { help: 'platform.openai.com/api-keys' }),
    organization: text('Organization id', { required: false, help: 'Where the key belongs to several' }),
    project: text('Project id', { required: false }),
  },
  api: 'https://api.openai.com/v1',
  auth: [
    { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
    { in: 'header', name: 'openai-organization', field: 'organization' },
    { in: 'header', name: 'openai-project', field: 'project' },
  ],
  errorOf: openaiErrorOf,
  models: {
    ...alike(drawing, 'gpt-image-2', 'gpt-image-2.6-sunburst', 'gpt-image-2.6-flare'),
    'gpt-4o-mini-tts': speakingNow,
    ...alike(speaking, 'tts-1', 'tts-1-hd'),
    'whisper-1': { transcription: ONE_SOUND },
  },
  connect: openaiMedia(),
  check: listAt('/models', 'data'),
});
