import { z } from 'zod';

const OUTCOMES = ['ok', 'rate_limited', 'error', 'error_after_accept', 'hang', 'auth_expired', 'garbage'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** How the network is to treat a post (S243). */
export const Treatment = z.object({
  /** Passes before the post is accepted. */
  latencyMs: z.int().min(0).max(120_000).optional(),
  outcome: z.enum(OUTCOMES).optional(),
  retryAfterSeconds: z.int().min(0).max(86_400).optional(),
  /** The outcome is met that many times for one idempotency key, then it is `ok`. Absent: always. */
  times: z.int().min(0).max(1_000).optional(),
});
export type Treatment = z.output<typeof Treatment>;

export const Submitted = z.object({
  text: z.string().max(10_000),
  media: z
    .array(z.object({ id: z.string(), name: z.string(), contentType: z.string(), alt: z.string(), bytes: z.int() }))
    .max(20)
    .default([]),
  replyTo: z.string().nullish(),
  treatment: Treatment.default({}),
});
export type Submitted = z.output<typeof Submitted>;

/** Whether a post of this outcome is taken into the network, and so shows in the ledger as accepted. */
export const accepts = (outcome: Outcome): boolean =>
  outcome === 'ok' || outcome === 'error_after_accept' || outcome === 'garbage';

/** The outcome of the `nth` request (from 1) under one key. */
export const outcomeOf = ({ outcome = 'ok', times }: Treatment, nth: number): Outcome =>
  times !== undefined && nth > times ? 'ok' : outcome;

/** The account of a name: the same name is the same account. */
export const accountOf = (name: string): string =>
  name
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '');

/** A token names its account; every one that is well formed is good until the network is told to refuse it. */
export const tokenOf = (account: string, generation: number): string =>
  `sandbox.${Buffer.from(account).toString('base64url')}.${generation}`;
export function readToken(token: string): { account: string; generation: number } | undefined {
  const match = /^sandbox\.([\w-]+)\.(\d{1,9})$/.exec(token);
  return match ? { account: Buffer.from(match[1]!, 'base64url').toString(), generation: Number(match[2]) } : undefined;
}
