import { z } from 'zod';
import { cleanContents } from '../../../platform/content/index.ts';
import { clockChangeOf, instantOfLocal, isTimezone } from '../../../platform/kernel/index.ts';
import { asLocalDate, DateText } from './dates.ts';
import { RecurrenceFields } from './recurrence-wish.ts';

// The bodies of create and edit, with the tolerance that clients in the field need (T4, T6): optional collections may
// be missing, null or empty.

/** A text that may be missing, null or empty, which all mean that it is not given. */
const blank = (schema: z.ZodType<string, string>) => schema.nullish().transform((text) => text || undefined);

const Content = z.string().max(100_000);
const Delay = z.int().min(0).max(10_080);
const Group = z.string().regex(/^[A-Za-z0-9_-]{0,255}$/, 'may have letters, digits, - and _, at most 255');
const Image = z
  .strictObject({
    id: blank(z.string().max(255)),
    path: z.string().max(4_000),
    alt: blank(z.string().max(5_000)),
    thumbnail: blank(z.string().max(4_000)),
    thumbnailTimestamp: z.number().min(0).max(2_147_483_647).nullish(), // ms, of a video
    name: z.string().max(1_000).nullish(),
    type: z.string().max(255).nullish(),
  })
  .transform(({ id, path, alt, thumbnail, thumbnailTimestamp }) => ({
    ...(id !== undefined && { id }),
    path,
    alt: alt ?? '',
    ...(thumbnail !== undefined && { thumbnail }),
    ...(thumbnailTimestamp != null && { thumbnailTimestamp: Math.round(thumbnailTimestamp) }),
  }));
const Images = z
  .array(Image)
  .max(100)
  .nullish()
  .transform((images) => images ?? []);
/** The settings of a post: those of its network, and what is to follow its publication, which `checkFollowUps` judges. */
export const PostSettings = z.record(z.string(), z.unknown());
const Tag = z
  .strictObject({
    value: z.string().max(255).nullish(),
    label: z.string().max(255).nullish(),
    color: blank(z.string().regex(/^(#[0-9a-f]{3,8})?$/i, 'is a color such as #612AD5')),
  })
  .transform(({ value, label, color }) => ({
    name: (label?.trim() || value?.trim()) ?? '',
    ...(color !== undefined && { color }),
  }))
  .refine(({ name }) => name !== '', 'has neither label nor value');
const Tags = z
  .array(Tag)
  .max(100)
  .nullish()
  .transform((tags) => tags ?? []);
export type TagWish = z.output<typeof Tag>;

const Item = z.strictObject({
  content: Content,
  id: blank(z.string().max(1_000)),
  delay: Delay.nullish().transform((delay) => delay ?? 0),
  image: Images,
});
const Element = z.strictObject({
  integration: z.strictObject({ id: z.string().max(255) }),
  value: z.array(Item).min(1).max(100),
  group: blank(Group),
  type: z.string().max(50).nullish(),
  settings: PostSettings.nullish().transform((settings) => settings ?? {}),
});

/** The campaign that posts are to be in; of an edit null takes the post out of every campaign. */
const CampaignId = z.string().max(255).nullish().meta({
  description: 'Id of the campaign that the posts are in: they carry its tag.',
});

/** What clients of other services send, and nothing here follows (4.3). */
const WithoutEffect = z.unknown().optional().meta({ description: 'Accepted, and without effect.' });

/** The body of create (4.3). */
export const CreateBody = z
  .strictObject({
    type: z.enum(['draft', 'schedule', 'now', 'update']),
    date: z
      .string()
      .max(100)
      .nullish()
      .transform((text, check) => (text ? asLocalDate(text, check) : undefined)),
    shortLink: z.boolean().nullish(),
    tags: Tags,
    campaignId: CampaignId,
    posts: z.array(Element).min(1).max(100),
    order: WithoutEffect,
    inter: RecurrenceFields.inter,
    republish: WithoutEffect,
    creationMethod: z.string().max(50).nullish(),
    recurrence: RecurrenceFields.recurrence,
    timezone: blank(
      z
        .string()
        .max(100)
        .refine((text) => text === '' || isTimezone(text), 'not an IANA time zone'),
    ).meta({
      description:
        'IANA name of the zone in which `date` is meant when it has no offset of its own; without it that is UTC.',
    }),
  })
  .refine(({ type, date }) => type !== 'schedule' || date !== undefined, {
    path: ['date'],
    message: 'is needed to schedule',
  })
  .meta({
    examples: [
      {
        type: 'schedule',
        date: '2026-09-01T10:00:00.000Z',
        posts: [
          {
            integration: { id: '0198f2a4-6b1e-7c3d-9a52-4e8d1f60b7c9' },
            value: [{ content: '<p>Hello</p>' }],
            settings: {},
          },
        ],
      },
    ],
  });
export type SentBody = z.output<typeof CreateBody>;
/**
 * A create body with its date as an instant and its contents as they are stored; `local`: the date as a local time of
 * `timezone`, where it was written so.
 */
export type CreateBody = Omit<SentBody, 'date'> & { date?: Date | undefined; local?: string | undefined };
export type ElementBody = CreateBody['posts'][number];

/** The body of `PUT` and `PATCH /posts/:id` (S109). */
export const EditBody = z.strictObject({
  content: Content.optional(),
  image: z.array(Image).max(100).optional(),
  settings: PostSettings.optional(),
  publishDate: DateText.optional(),
  inter: RecurrenceFields.inter,
  recurrence: RecurrenceFields.recurrence,
  tags: z.array(Tag).max(100).optional(),
  campaignId: CampaignId,
  group: blank(Group).optional(),
  title: z.string().max(1_000).nullish(),
  description: z.string().max(10_000).nullish(),
  thread: z
    .array(
      z.strictObject({
        id: blank(z.string().max(255)),
        content: Content,
        image: Images,
        delay: Delay.nullish().transform((delay) => delay ?? 0),
      }),
    )
    .max(99)
    .optional(),
});
export type EditBody = z.output<typeof EditBody>;

const fieldsOf = ({ posts }: Pick<SentBody, 'posts'>) =>
  posts.flatMap(({ value }, n) =>
    value.map(({ content }, item) => ({ field: `posts.${n}.value.${item}.content`, content })),
  );

/** The date of a body as a local time of `timezone` or of UTC; undefined where it has an offset of its own. */
const localOf = ({ date }: Pick<SentBody, 'date'>): string | undefined =>
  date?.isLocal ? date.at.toISOString().slice(0, -1) : undefined;

/** Tells whether the clocks of `timezone` skip the date of a body or show it twice; `now` has no date. */
export function dateShiftOf(body: Pick<SentBody, 'type' | 'date' | 'timezone'>): 'skipped' | 'doubled' | undefined {
  const local = body.type === 'now' ? undefined : localOf(body);
  return local !== undefined && body.timezone ? clockChangeOf(local, body.timezone) : undefined;
}

/** What a create body means. A date without an offset is a wall-clock time of `timezone`, or of UTC (S104). */
export function readBody({ date, ...body }: SentBody): CreateBody {
  const clean = cleanContents(fieldsOf(body));
  const local = localOf({ date });
  let at = 0;
  return {
    ...body,
    local,
    date: local !== undefined && body.timezone ? instantOfLocal(local, body.timezone) : date?.at,
    posts: body.posts.map((post) => ({
      ...post,
      value: post.value.map((item) => ({ ...item, content: clean[at++]! })),
    })),
  };
}

/** An edit with its contents as they are stored. */
export function cleanEdit(body: EditBody): EditBody {
  const { content, thread = [] } = body;
  const [own = '', ...others] = cleanContents([
    { field: 'content', content: content ?? '' },
    ...thread.map((item, n) => ({ field: `thread.${n}.content`, content: item.content })),
  ]);
  return {
    ...body,
    ...(content !== undefined && { content: own }),
    ...(body.thread && { thread: thread.map((item, n) => ({ ...item, content: others[n]! })) }),
  };
}
