import { z } from 'zod';
import type { Question } from '../runs/index.ts';
import { fenceData } from '../text/index.ts';

/** Changes with the words below. */
const PROMPT_VERSION = 'content-pipeline-1';

interface Agent<T> {
  form: z.ZodType<T>;
  instruction: string;
  maxTokens: number;
}

const words = (most: number) => z.string().max(most);
const WRITES =
  'Plain text without Markdown and HTML, in the language that "language" names, else in that of "topic", else in that of the facts. Say nothing that neither "topic" nor "facts" has: no number, name, quotation or promise of your own. Write links and mentions only where "topic" or "brand" has them.';

const agent = <T>(one: Agent<T>): Agent<T> => one;

/** What each agent is told; the same whatever people and pages write. */
export const AGENTS = {
  read: agent({
    form: z.object({ facts: z.array(z.object({ fact: words(1_000), quote: words(1_000) })).max(60) }),
    instruction:
      'You collect facts from the text of a web page: what it says about its subject, up to 40 of them, those first that matter for "topic" where it is there. Each has the words of the page that say it, copied letter by letter as "quote", at most 300 characters.',
    maxTokens: 8_000,
  }),
  outline: agent({
    form: z.object({ posts: z.array(z.object({ message: words(1_000), facts: z.array(z.int()).max(60) })).max(20) }),
    instruction:
      'You plan posts for social media: "count" of them, each with another message, in one or two sentences, and the numbers of the facts that it uses. Where "facts" is empty, "topic" is all there is.',
    maxTokens: 6_000,
  }),
  write: agent({
    form: z.object({ texts: z.array(words(20_000)).max(20) }),
    instruction: `You write posts for the social network that "network" names: one text for each entry of "posts", in their order, each at most "characters" long where that is said, in the voice of "brand" and in "tone". ${WRITES}`,
    maxTokens: 16_000,
  }),
  shorten: agent({
    form: z.object({ text: words(20_000) }),
    instruction: `You shorten a post for a social network, so that it is at most "characters" long and "fault" is mended. Keep what matters most. ${WRITES}`,
    maxTokens: 6_000,
  }),
  review: agent({
    form: z.object({
      flags: z
        .array(
          z.object({ draft: z.int(), words: words(1_000), kind: z.enum(['unsupported', 'brand']), why: words(1_000) }),
        )
        .max(100),
    }),
    instruction:
      'You review drafts of posts. Flag as "unsupported" each claim, number, name and quotation that neither "topic" nor "facts" has, and as "brand" what goes against the voice, the do list or the don\'t list of "brand". "words" are those of the draft, copied letter by letter; "why" is one sentence.',
    maxTokens: 8_000,
  }),
} as const;

export type AgentName = keyof typeof AGENTS;
export type AnswerOf<N extends AgentName> = z.output<(typeof AGENTS)[N]['form']>;

/** The question to an agent, with its data between fences of their own. */
export function questionOf<N extends AgentName>(
  name: N,
  data: Readonly<Record<string, unknown>>,
): Question<AnswerOf<N>> {
  const { form, instruction, maxTokens } = AGENTS[name];
  const { rule, text } = fenceData(data);
  return {
    promptVersion: `${PROMPT_VERSION} ${name}`,
    instruction: `${instruction}\n\n${rule}`,
    data: text,
    form: form as unknown as z.ZodType<AnswerOf<N>>, // the form of this very agent
    maxTokens,
  };
}
