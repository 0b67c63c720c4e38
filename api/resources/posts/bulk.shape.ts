import { z } from 'zod';
import type { AppliedPlan, PlannedRow, PlanRow } from '../../../src/publishing/posts/index.ts';
import { Faults, Warnings } from './preflight.shape.ts';

/** Rows of a bulk create, each a create body. */
export const BulkBody = z.strictObject({
  items: z
    .array(z.unknown())
    .min(1)
    .max(500)
    .meta({ description: 'Each as the body of POST /posts; one that is wrong is told in its row.' }),
  apply: z.boolean().nullish().meta({ description: 'Creates the valid rows at once.' }),
});

const Row = z.strictObject({
  index: z.int(),
  valid: z.boolean(),
  errors: Faults,
  postId: z.string().optional().meta({ description: 'The first post of a row that was created.' }),
});
export const Plan = z.strictObject({
  planId: z.string(),
  rows: z.array(
    Row.extend({
      warnings: Warnings.meta({
        description:
          'What preflight warns of, of the first 2,000 posts of valid rows; those behind them say `not_compared`.',
      }),
    }),
  ),
});
export const Applied = z.strictObject({
  created: z.int().meta({ description: 'Rows that were created.' }),
  rows: z.array(Row),
});
/** What became of the posts of a plan that was taken back. */
export const Undone = z.strictObject({
  deleted: z.int().meta({ description: 'Posts that were deleted, each with its thread.' }),
  kept: z.array(z.strictObject({ postId: z.string(), reason: z.enum(['published', 'in_flight', 'changed']) })),
});

/** A plan with its judgement, and with what was created where it was applied at once (S124). */
export const presentPlan = ({
  planId,
  rows,
}: {
  planId: string;
  rows: readonly PlannedRow[];
}): z.input<typeof Plan> => ({
  planId,
  rows: rows.map((row) => ({ ...presentRow(row), warnings: row.warnings })),
});
export const presentApplied = ({ created, rows }: AppliedPlan): z.input<typeof Applied> => ({
  created,
  rows: rows.map(presentRow),
});
const presentRow = ({ index, valid, errors, postId }: PlanRow): z.input<typeof Row> => ({
  index,
  valid,
  errors: [...errors],
  ...(postId !== undefined && { postId }),
});
