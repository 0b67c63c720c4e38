import { z } from 'zod';
import { instant } from '../../http/fields.ts';
import { type RunRow, STEP_STATES } from '../../../src/studio/runs/index.ts';
import {
  type BegunPipeline,
  draftBody,
  PipelineInput,
  type PipelineRun,
  pipelineOutput,
} from '../../../src/studio/content-pipeline/index.ts';

const PIPELINE_STATES = ['running', 'done', 'failed', 'timed_out', 'cancelled'] as const;
type PipelineState = (typeof PIPELINE_STATES)[number];

const line = (most: number) => z.string().trim().min(1).max(most);
/** What drafts are to be written of, and for whom. */
export const NewPipeline = z
  .strictObject({
    topic: line(20_000).optional(),
    url: line(4_000).optional().meta({ description: 'A page of the web; what it says is the source of the drafts.' }),
    channels: z
      .array(z.string().max(255))
      .min(1)
      .max(20)
      .refine((ids) => new Set(ids).size === ids.length, 'has a channel twice'),
    tone: line(100).optional(),
    brandKitId: z.string().max(255).optional(),
    count: z.int().min(1).max(20).default(1).meta({ description: 'Drafts for each channel.' }),
    language: z.string().trim().min(2).max(60).optional(),
  })
  .refine(({ topic, url }) => topic !== undefined || url !== undefined, {
    path: ['topic'],
    message: 'is needed where there is no url',
  })
  .meta({ examples: [{ topic: 'Bees on our roof', channels: ['0198f2a4-6b1e-7c3d-9a52-4e8d1f60b7c9'], count: 2 }] });

/** A run as it begins and in lists. */
export const PipelineSummary = z.strictObject({
  id: z.string(),
  state: z.enum(PIPELINE_STATES),
  topic: z.string().nullable(),
  url: z.string().nullable(),
  createdAt: instant,
});
export const PipelineBegun = PipelineSummary.pick({ id: true, state: true });

/** The body of `POST /posts` that creates the draft. */
const DraftBody = z.strictObject({
  type: z.literal('draft'),
  posts: z.array(
    z.strictObject({
      integration: z.strictObject({ id: z.string() }),
      value: z.array(z.strictObject({ content: z.string() })),
      settings: z.strictObject({}),
    }),
  ),
});
/** `draft`: its place in `drafts`; null where there is none. */
const DraftNote = z.strictObject({
  draft: z.int().nullable(),
  channelId: z.string().nullable(),
  kind: z.enum(['dropped', 'removed', 'unsupported', 'brand', 'unreviewed']),
  message: z.string(),
});
/** A run with its drafts: those that are whole, also where its time was over. */
export const PipelineReport = PipelineBegun.extend({
  steps: z.array(z.strictObject({ name: z.string(), state: z.enum(STEP_STATES) })),
  drafts: z.array(DraftBody),
  notes: z.array(DraftNote),
  error: z.string().nullable(),
});

const stateOf = ({ state }: BegunPipeline): PipelineState => state as PipelineState; // its room writes these alone
export const presentPipelineBegun = (run: BegunPipeline): z.input<typeof PipelineBegun> => ({
  id: run.id,
  state: stateOf(run),
});
export function presentPipelineSummary(run: RunRow): z.input<typeof PipelineSummary> {
  const { topic, url } = PipelineInput.parse(run.input);
  return { ...presentPipelineBegun(run), topic, url, createdAt: run.createdAt.toISOString() };
}
export function presentPipeline(run: PipelineRun): z.input<typeof PipelineReport> {
  const { drafts, notes } = pipelineOutput(run);
  return {
    ...presentPipelineBegun(run),
    steps: run.steps.map(({ name, state }) => ({ name, state })),
    drafts: drafts.map(draftBody),
    notes: [
      ...drafts.flatMap((one, draft) => one.notes.map((note) => ({ draft, ...note }))),
      ...notes.map((note) => ({ draft: null, ...note })),
    ],
    error: run.error,
  };
}
