import { z } from 'zod';
import type { FailureByCode } from '../kit/declare/failures.ts';
import { anthropicMessages } from './_anthropic-messages.ts';
import { chatModel } from './_models.ts';
import { bearer } from './_openai-chat.ts';

const CODES: FailureByCode = {
  1000: 'unavailable',
  1001: 'unavailable',
  1002: 'rate_limited',
  1004: 'reauthorize',
  1008: 'exhausted', // the balance
  1013: 'unavailable',
  1026: 'rejected', // the question was sensitive
  1027: 'rejected', // the answer was
  2013: 'rejected',
  2049: 'reauthorize',
  2056: 'exhausted', // the plan
};
const Voices = z.object({ base_resp: z.object({ status_code: z.literal(0) }) });

/** https://platform.minimax.io/docs */
export default anthropicMessages({
  id: 'minimax',
  status: 'active',
  kind: 'direct',
  title: 'MiniMax',
  description: 'MiniMax M models.',
  website: 'https://www.minimax.io',
  setupNotes:
    'Make a key at platform.minimax.io > API keys. Keys of the Chinese site need the base URL https://api.minimaxi.com/anthropic/v1.',
  api: 'https://api.minimax.io/anthropic/v1',
  auth: [bearer],
  errorInside: z
    .object({ base_resp: z.object({ status_code: z.number().refine((code) => code !== 0) }) })
    .transform(({ base_resp: { status_code: code } }) => CODES[code] ?? 'rejected'),
  models: [
    chatModel('MiniMax-M2.7', 204_800, 'tools'),
    chatModel('MiniMax-M2.7-highspeed', 204_800, 'tools'),
    chatModel('MiniMax-M3', 1_000_000, 'vision', 'tools'),
  ],
  objects: 'words',
  /** The list of voices is free, and needs the key. */
  check: async ({ http, base }) => {
    await http.post(new URL('/v1/get_voice', base).href, Voices, { json: { voice_type: 'system' } });
    return 'The key is accepted';
  },
});
