import { z } from 'zod';
import { AI_KINDS } from '../../../src/providers/registry/index.ts';
import type { BudgetRules } from '../../../src/studio/budget/index.ts';
import type { UsableModel } from '../../../src/studio/models/index.ts';
import type { WrittenByModel } from '../../../src/studio/text/index.ts';

/** A text that a language model wrote; `hashtags` for the action of this name. */
export const ModelText = z.strictObject({
  content: z.string(),
  hashtags: z.array(z.string()).optional(),
  providerId: z.string(),
  model: z.string(),
});
export const presentModelText = (text: WrittenByModel): z.input<typeof ModelText> => text;

export const LanguageModel = z.strictObject({
  providerId: z.string(),
  version: z.string(),
  model: z.string(),
  kinds: z.array(z.enum(AI_KINDS)),
});
export const presentModel = ({ kinds, ...model }: UsableModel): z.input<typeof LanguageModel> => ({
  ...model,
  kinds: [...kinds],
});

const cents = z.int().min(0).max(100_000_000).nullable();

/** Caps of an organization in cents of a US dollar; null: none. */
export const AiBudget = z.strictObject({
  providers: z
    .array(
      z.strictObject({
        domain: z.enum(['ai', 'media']),
        providerId: z.string().min(1).max(64),
        monthlyCents: cents.default(null),
        dailyCents: cents.default(null),
      }),
    )
    .max(100),
  monthlyCents: cents,
  dailyCents: cents,
  alertPercents: z
    .array(z.int().min(1).max(100))
    .max(10)
    .refine((percents) => new Set(percents).size === percents.length, 'has a percentage twice'),
});
export const presentBudget = ({
  providers,
  monthlyCents,
  dailyCents,
  alertPercents,
}: BudgetRules): z.input<typeof AiBudget> => ({
  providers: providers.map((caps) => ({ ...caps })),
  monthlyCents,
  dailyCents,
  alertPercents: [...alertPercents],
});
