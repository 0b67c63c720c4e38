import { z } from 'zod';
import type { BrandKits } from '../../library/brand-kits/index.ts';
import type { Database } from '../../platform/db/index.ts';
import type { Clock } from '../../platform/kernel/index.ts';
import type { Outbound } from '../../platform/outbound/index.ts';
import type { Posts } from '../../publishing/posts/index.ts';
import type { Budget } from '../budget/index.ts';
import type { Models } from '../models/index.ts';
import type { Pages } from '../pages/index.ts';
import type { Runs } from '../runs/index.ts';

/** What the room is opened with. */
export interface ContentPipelineDeps {
  sql: Database;
  clock: Clock;
  outbound: Pick<Outbound, 'judge'>;
  brandKits: Pick<BrandKits, 'getBrandKit'>;
  /** Publishing's own judgement of a post, in the unit of its network. */
  posts: Pick<Posts, 'preflightPosts'>;
  budget: Pick<Budget, 'checkRoomFor'>;
  models: Pick<Models, 'resolveAi'>;
  pages: Pages;
  runs: Runs;
  timeouts: { totalMs: number; agentMs: number };
}

/** The input of a run: what was asked for, with channels and brand as they were then. */
export const PipelineInput = z.object({
  topic: z.string().nullable(),
  url: z.string().nullable(),
  tone: z.string().nullable(),
  language: z.string().nullable(),
  count: z.int(),
  channels: z.array(z.object({ id: z.string(), network: z.string(), characters: z.int().nullable() })),
  brand: z
    .object({
      voice: z.string().nullable(),
      tone: z.string().nullable(),
      audience: z.string().nullable(),
      hashtags: z.array(z.string()),
      doList: z.array(z.string()),
      dontList: z.array(z.string()),
    })
    .nullable(),
});
export type PipelineInput = z.output<typeof PipelineInput>;

/** What the step `read` comes to. The page itself is kept nowhere. */
export const ReadOutput = z.object({
  url: z.string(),
  title: z.string(),
  links: z.array(z.string()),
  facts: z.array(z.object({ fact: z.string(), quote: z.string() })),
  /** Facts whose quotes the page has not. */
  dropped: z.int(),
});
export type ReadOutput = z.output<typeof ReadOutput>;

export const OutlineOutput = z.object({
  posts: z.array(z.object({ message: z.string(), facts: z.array(z.int()) })),
});

/** Something to know about a draft, or about one that is not there. */
export const PipelineNote = z.object({
  channelId: z.string().nullable(),
  kind: z.enum(['dropped', 'removed', 'unsupported', 'brand', 'unreviewed']),
  message: z.string(),
});
export type PipelineNote = z.output<typeof PipelineNote>;

/** What `write` and `fit` come to: texts of a channel, each with what is to be said of it. */
export const TextsOutput = z.object({
  texts: z.array(z.object({ text: z.string(), removed: z.array(z.string()) })),
  notes: z.array(PipelineNote),
});
export type TextsOutput = z.output<typeof TextsOutput>;

export const ReviewOutput = z.object({
  flags: z.array(
    z.object({ draft: z.int(), words: z.string(), kind: z.enum(['unsupported', 'brand']), why: z.string() }),
  ),
});
export type ReviewOutput = z.output<typeof ReviewOutput>;

/** A draft as the body that creates it, with the notes about it. */
export const PipelineDraft = z.object({ channelId: z.string(), text: z.string(), notes: z.array(PipelineNote) });
export type PipelineDraft = z.output<typeof PipelineDraft>;
export const PipelineOutput = z.object({ drafts: z.array(PipelineDraft), notes: z.array(PipelineNote) });
export type PipelineOutput = z.output<typeof PipelineOutput>;
