import { z } from 'zod';
import type { ProviderFailure } from '../../platform/kernel/index.ts';
import { shaped } from './_account.ts';
import { sentFiles } from './_contract.ts';

// What both of Google's APIs have: limits of the models, and reasons of refusals.

/** Pictures and videos of Gemini and Veo, with their limits. */
const ratios = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'];
export const DRAWING = {
  image: { ratios },
  edit: { ratios, sources: sentFiles(1, 14, 'image') },
} as const;
export const FILMING = {
  video: {
    promptLength: 4_000,
    ratios: ['16:9', '9:16'],
    seconds: [4, 6, 8],
    secondsNeeded: true,
    sources: sentFiles(0, 1, 'image'),
  },
} as const;
export const VOICES = ['Kore', 'Puck', 'Zephyr', 'Charon', 'Fenrir', 'Leda', 'Orus', 'Aoede', 'Callirrhoe', 'Autonoe'];

const Reason = z.object({
  error: z.object({
    message: z.string().catch(''),
    status: z.string().optional(),
    details: z
      .array(z.object({ reason: z.string().optional() }))
      .optional()
      .catch(undefined),
  }),
});
const known = Reason.transform(({ error: { message, status, details = [] } }, context): ProviderFailure => {
  if (details.some(({ reason }) => reason === 'API_KEY_INVALID')) return 'reauthorize';
  const isQuota = status === 'RESOURCE_EXHAUSTED' || status === 'FAILED_PRECONDITION';
  if (isQuota && /billing|per ?day/i.test(message)) return 'exhausted';
  context.addIssue({ code: 'custom', message: 'is another' });
  return z.NEVER;
});
/** The refusal of a token for a service account that is gone. */
const Deleted = shaped({ error: z.enum(['invalid_grant', 'invalid_client']) }, 'reauthorize');
/** Reads Google's reason of a refusal: a wrong key comes as 400, and a quota that is used up as 429. */
export const googleErrorOf = z.union([Deleted, known]);
