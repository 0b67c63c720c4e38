import { z } from 'zod';
import { text } from '../kit/declare/fields.ts';
import { chatModel, embeddingModel } from './_models.ts';
import { bearer, LATER_COST, openaiChat } from './_openai-chat.ts';
import { openaiError } from './_openai-error.ts';

const Key = z
  .object({ data: z.object({ limit_remaining: z.number().nullish() }) })
  .transform(({ data }) => data.limit_remaining ?? null);
/** A moderation or a guardrail says in `metadata` what it found; without that the key lacks a right. */
const Moderated = z
  .object({
    status: z.literal(403),
    error: z.object({
      metadata: z.union([
        z.object({ reasons: z.array(z.unknown()) }),
        z.object({ flagged_input: z.string() }),
        z.object({ patterns: z.array(z.unknown()) }),
      ]),
    }),
  })
  .transform(() => 'rejected' as const);

/** https://openrouter.ai/docs/api-reference */
export default openaiChat({
  id: 'openrouter',
  status: 'active',
  kind: 'hub',
  title: 'OpenRouter',
  description: 'One key for models of many makers.',
  website: 'https://openrouter.ai',
  setupNotes: 'Make a key at openrouter.ai > Keys.',
  api: 'https://openrouter.ai/api/v1',
  credentials: {
    siteUrl: text('Site URL', {
      required: false,
      form: 'url',
      address: false,
      help: 'Shown in the rankings of OpenRouter',
    }),
    siteName: text('Site name', { required: false, maxLength: 100 }),
  },
  auth: [
    bearer,
    { in: 'header', name: 'http-referer', field: 'siteUrl' },
    { in: 'header', name: 'x-title', field: 'siteName' },
  ],
  errorOf: z.union([Moderated, openaiError()]),
  models: [
    chatModel('openai/gpt-5.4-mini', 400_000, 'vision', 'tools', 'object'),
    chatModel('anthropic/claude-sonnet-5', 1_000_000, 'vision', 'tools', 'object'),
    chatModel('google/gemini-3.5-flash', 1_048_576, 'vision', 'tools', 'object'),
    embeddingModel('openai/text-embedding-3-small', 8_191),
  ],
  quirks: {
    cost: { at: ['cost'], dollars: 1 },
    costLookUp: { path: '/generation', says: LATER_COST }, // of an answer that is cut
    objects: 'json',
    ends: { error: 'unavailable' },
  },
  verify: async ({ http }) => {
    const left: number | null = await http.get('/key', Key);
    return `The key is accepted${left === null ? '' : `, ${left} dollars of its limit are left`}`;
  },
});
