import { z } from 'zod';
import type { Surface } from '../../src/oauth-server/index.ts';
import { parse } from '../../src/platform/kernel/index.ts';

/** A text that a person chooses, with what they fill in. Nothing of others reaches it. */
interface Prompt {
  name: string;
  title: string;
  description: string;
  given: z.ZodObject<Record<string, z.ZodType<string | undefined>>>;
  textOf(given: Readonly<Record<string, string>>): string;
}

const Text = z.string().min(1).max(2_000);
const NONE = z.strictObject({});

const PROMPTS: Readonly<Record<Surface, readonly Prompt[]>> = {
  mcp: [
    {
      name: 'plan_week',
      title: 'Plan a week',
      description: 'Plans posts of a week and stores them as drafts.',
      given: z.strictObject({
        topic: Text.describe('What the posts are about.'),
        start: Text.optional().describe('First day of the week, such as 2026-09-07; the next Monday without it.'),
      }),
      textOf: ({ topic = '', start }) =>
        `Plan posts for the week that begins ${start ?? 'on the next Monday'} about: ${topic}\n\n` +
        'List the channels with list_channels and read channel_schema of each network. Look at list_posts of that week, so that nothing is said twice. ' +
        'Use find_slot for free times. Show me the plan first. When I agree, create the posts with create_post as drafts; judge them with preflight_post before.',
    },
    {
      name: 'explain_failures',
      title: 'Explain failures',
      description: 'Says why posts failed lately, and what to do.',
      given: NONE,
      textOf: () =>
        'Find the posts of the last 30 days with the state ERROR by list_posts, and call explain_failure for each. ' +
        'Group them by cause, and say for each group what I have to do and whether trying again is safe. Change nothing.',
    },
    {
      name: 'rewrite_for_channel',
      title: 'Rewrite a post for a channel',
      description: 'Rewrites a post so that it fits the rules of another channel.',
      given: z.strictObject({
        post: Text.describe('Id of the post.'),
        channel: Text.describe('Id of the channel.'),
      }),
      textOf: ({ post = '', channel = '' }) =>
        `Read the post ${post} by get_post, and find the channel ${channel} in list_channels. Read channel_schema of its network. ` +
        'Rewrite the post so that it fits: length, tone, settings, files. Judge the result with preflight_post, show it to me, and create it as a draft when I agree.',
    },
    {
      name: 'review_queue',
      title: 'Review the queue',
      description: 'Checks the posts of the next days for faults.',
      given: NONE,
      textOf: () =>
        'List the posts of the next 14 days by list_posts. Check each for typing errors, dead references to dates, posts that say the same, ' +
        'and what its network does not take by channel_schema. Tell me what you would change, and change it by update_post only when I agree.',
    },
  ],
  'media-mcp': [
    {
      name: 'write_alt_texts',
      title: 'Write alternative texts',
      description: 'Writes alternative texts for pictures that have none.',
      given: z.strictObject({ folder: Text.optional().describe('Only pictures of this folder.') }),
      textOf: ({ folder }) =>
        `Find pictures without an alternative text by search_media with type image${folder ? ` and the folder ${folder}` : ''}. ` +
        'Look at each picture and write one sentence that says what can be seen. Show me the list, and store the texts by update_media when I agree.',
    },
  ],
};

/** The prompts of a surface as clients list them. */
export const listPrompts = (surface: Surface) =>
  PROMPTS[surface].map(({ name, title, description, given }) => ({
    name,
    title,
    description,
    arguments: Object.entries(given.shape).map(([argument, schema]) => ({
      name: argument,
      description: schema.description,
      required: !schema.isOptional(),
    })),
  }));

/**
 * A prompt with what was filled in; undefined where there is none of this name.
 * @throws AppError `validation_failed` for an argument that is missing, unknown or too long
 */
export function promptOf(surface: Surface, name: string, given: unknown) {
  const prompt = PROMPTS[surface].find((one) => one.name === name);
  if (!prompt) return undefined;
  const words = prompt.textOf(parse(prompt.given, given ?? {}) as Record<string, string>); // each value is a text
  return {
    description: prompt.description,
    messages: [{ role: 'user' as const, content: { type: 'text' as const, text: words } }],
  };
}
