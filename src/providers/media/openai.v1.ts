import { secret, text } from '../kit/declare/fields.ts';
import { media } from './_contract.ts';
import { listAt } from './_key-checks.ts';
import { ONE_SOUND, openaiErrorOf, openaiMedia } from './_openai-media.ts';

const sizes = ['1024x1024', '1536x1024', '1024x1536'];
const picture = { promptLength: 32_000, sizes, count: 10 };
const drawing = { image: picture, edit: { ...picture, sources: { kinds: ['image'], min: 1, max: 16 } } } as const;
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
  models: [
    { id: 'gpt-image-2', operations: drawing },
    { id: 'gpt-image-2.6-sunburst', operations: drawing },
    { id: 'gpt-image-2.6-flare', operations: drawing },
    { id: 'gpt-4o-mini-tts', operations: speakingNow },
    { id: 'tts-1', operations: speaking },
    { id: 'tts-1-hd', operations: speaking },
    { id: 'whisper-1', operations: { transcription: ONE_SOUND } },
  ],
  connect: openaiMedia,
  check: listAt('/models', 'data'),
});
