import { z } from 'zod';
import {
  AppError,
  type FieldError,
  fieldError,
  judge,
  newId,
  validationFailed,
} from '../../../src/platform/kernel/index.ts';
import { CreateBody, type NewPost, type SentBody } from '../../../src/publishing/posts/index.ts';
import { objectOf, pairs } from '../../http/pairs.ts';

/** Posts as agents write them, an entry a channel. */
export const SocialPosts = z.strictObject({
  socialPost: z
    .array(
      z.strictObject({
        integrationId: z.string().max(255).describe('Id of a channel, of `list_channels`.'),
        isPremium: z.boolean().optional().describe('Ignored: the limits of the channel are known.'),
        date: z
          .string()
          .max(100)
          .optional()
          .describe('When to publish, in UTC, such as 2026-09-01T10:00:00Z; needed for `schedule`.'),
        shortLink: z.boolean().optional().describe('Shorten the links of the post.'),
        type: z.enum(['draft', 'schedule', 'now']).describe('What becomes of the post.'),
        postsAndComments: z
          .array(
            z.strictObject({
              content: z.string().max(100_000).describe('The text, plain or as HTML.'),
              attachments: z
                .array(z.string().max(4_000).describe('Address of a file, such as the `path` of an upload.'))
                .max(100)
                .optional()
                .describe('Pictures and videos.'),
            }),
          )
          .min(1)
          .max(100)
          .describe('The post, and behind it what is published as its thread or comments.'),
        settings: pairs('Settings of the network, as `channel_schema` describes them.').optional(),
      }),
    )
    .min(1)
    .max(20)
    .describe('One entry for each channel.'),
});
export type SocialPosts = z.output<typeof SocialPosts>;

const sentOf = ({ date, ...post }: SocialPosts['socialPost'][number], group: string) => ({
  type: post.type,
  ...(date !== undefined && { date }),
  ...(post.shortLink !== undefined && { shortLink: post.shortLink }),
  tags: [],
  posts: [
    {
      integration: { id: post.integrationId },
      group,
      value: post.postsAndComments.map(({ content, attachments = [] }) => ({
        content,
        image: attachments.map((path) => ({ path })),
      })),
      settings: objectOf(post.settings ?? []),
    },
  ],
});

type Names = readonly (readonly [RegExp, string])[];
/** The fields of create bodies as agents know them. */
const NAMES: Names = [
  [/^posts\.0\.value\.(\d+)\.image/, 'postsAndComments.$1.attachments'],
  [/^posts\.0\.value/, 'postsAndComments'],
  [/^posts\.0\.integration(\.id)?/, 'integrationId'],
  [/^posts\.0\./, ''],
];
/** The same of edits. */
const NAMES_OF_EDIT: Names = [
  [/^publishDate/, 'date'],
  [/^image/, 'attachments'],
];
function renamed({ field, message, rule }: FieldError, names: Names, at: string): FieldError {
  const found = names.find(([pattern]) => pattern.test(field));
  const own = `${at}${found ? field.replace(found[0], found[1]) : field}`;
  const sentence = message.startsWith(`${field}: `) ? message.slice(field.length + 2) : message;
  return fieldError(own, sentence, rule);
}
/** A fault of entry `n`, with the field that the agent wrote. */
export const faultOfEntry = (fault: FieldError, n: number): FieldError => renamed(fault, NAMES, `socialPost.${n}.`);

/** Posts that an agent wrote say so. */
export const byAgents = (posts: readonly NewPost[]): NewPost[] =>
  posts.map((post) => ({ ...post, creationMethod: 'MCP' }));

function refusalWith(error: unknown, fault: (one: FieldError) => FieldError): unknown {
  if (!(error instanceof AppError) || !Array.isArray(error.extra['errors'])) return error;
  const errors = (error.extra['errors'] as FieldError[]).map(fault);
  return new AppError(error.code, errors[0]?.message ?? error.message, { ...error.extra, errors });
}
/** The refusal of entry `n`, with the fields that the agent wrote. */
export const refusalOfEntry = (error: unknown, n: number): unknown => refusalWith(error, (one) => faultOfEntry(one, n));
/** The refusal of an edit, with the fields that the agent wrote. */
export const refusalOfEdit = (error: unknown): unknown => refusalWith(error, (one) => renamed(one, NAMES_OF_EDIT, ''));

/** The create bodies that an agent means, all of one group; each is judged as the body of create is. */
export function bodiesOf({ socialPost }: SocialPosts): SentBody[] {
  const group = newId();
  const judged = socialPost.map((post) => judge(CreateBody, sentOf(post, group)));
  const errors = judged.flatMap((one, n) => (one.errors ?? []).map((error) => faultOfEntry(error, n)));
  if (errors.length > 0) throw validationFailed(errors);
  return judged.map(({ data }) => data!); // without errors there is data
}
