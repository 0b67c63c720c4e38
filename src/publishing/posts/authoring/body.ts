import { z } from 'zod';
import { cleanContents } from '../../../platform/content/index.ts';
import { isTimezone, unbuilt, zoneOf } from '../../../platform/kernel/index.ts';

// The bodies of create and edit, with the tolerance that clients in the field need (T4, T6): optional collections may
// be missing, null or empty.

/** A text that may be missing, null or empty, which all mean that it is not given. */
const blank = (schema: z.ZodType<string, string>) => schema.nullish().transform((text) => text || undefined);

const DATE = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?))?\s*(Z|[+-]\d{2}:?\d{2})?$/i;
/** Years of four digits that the database and every client can hold, in every time zone. */
const [FIRST_YEAR, LAST_YEAR] = [1, 9_000];

/**
 * A date of ISO 8601: with `Z`, with an offset, or with none, which is UTC (S104); else the sentence that says why it
 * is none.
 */
function judgeDate(text: string): Date | string {
  const parts = DATE.exec(text.trim());
  if (!parts) return 'is not a date of ISO 8601, like 2026-01-31T18:00:00Z';
  const [, day = '', time = '00:00', zone = 'Z'] = parts;
  const midnight = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(midnight.getTime()) || midnight.toISOString().slice(0, 10) !== day)
    return 'names a day that no calendar has';
  const offset = /^z$/i.test(zone) ? 'Z' : zone.replace(/^([+-]\d{2}):?(\d{2})$/, '$1:$2');
  const date = new Date(`${day}T${time.replace(',', '.').replace(/(\.\d{3})\d+$/, '$1')}${offset}`);
  if (Number.isNaN(date.getTime())) return 'names a time or an offset that no day has';
  const year = date.getUTCFullYear();
  return year < FIRST_YEAR || year > LAST_YEAR ? `must lie in the years ${FIRST_YEAR} to ${LAST_YEAR}` : date;
}
/** Undefined: unreadable, no day of the calendar, or out of range. */
export function readDate(text: string): Date | undefined {
  const date = judgeDate(text);
  return typeof date === 'string' ? undefined : date;
}
/** Reads a date, or notes on the field why it is none. */
export function asDate(text: string, { issues }: { issues: z.core.$ZodRawIssue[] }): Date {
  const date = judgeDate(text);
  if (typeof date !== 'string') return date;
  issues.push({ code: 'custom', message: date, input: text });
  return z.NEVER;
}
export const DateText = z.string().max(100).transform(asDate);

const Content = z.string().max(100_000);
const Delay = z.int().min(0).max(10_080);
const Group = z.string().regex(/^[A-Za-z0-9_-]{0,255}$/, 'may have letters, digits, - and _, at most 255');
const Image = z
  .strictObject({
    id: blank(z.string().max(255)),
    path: z.string().max(4_000),
    alt: blank(z.string().max(5_000)),
    thumbnail: blank(z.string().max(4_000)),
    thumbnailTimestamp: z.number().nullish(),
    name: z.string().max(1_000).nullish(),
    type: z.string().max(255).nullish(),
  })
  .transform(({ id, path, alt, thumbnail }) => ({
    ...(id !== undefined && { id }),
    path,
    alt: alt ?? '',
    ...(thumbnail !== undefined && { thumbnail }),
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

/** The body of create (4.3). */
export const CreateBody = z
  .strictObject({
    type: z.enum(['draft', 'schedule', 'now', 'update']),
    date: z
      .string()
      .max(100)
      .nullish()
      .transform((text, check) =>
        text ? { at: asDate(text, check), isLocal: DATE.exec(text.trim())?.[3] === undefined } : undefined,
      ),
    shortLink: z.boolean().nullish(),
    tags: Tags,
    posts: z.array(Element).min(1).max(100),
    order: unbuilt(),
    inter: unbuilt(),
    republish: unbuilt(),
    creationMethod: z.string().max(50).nullish(),
    recurrence: unbuilt(),
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
  });
export type SentBody = z.output<typeof CreateBody>;
/** A create body with its date as an instant and its contents as they are stored. */
export type CreateBody = Omit<SentBody, 'date'> & { date?: Date | undefined };
export type ElementBody = CreateBody['posts'][number];

/** The body of `PUT` and `PATCH /posts/:id` (S109). */
export const EditBody = z.strictObject({
  content: Content.optional(),
  image: z.array(Image).max(100).optional(),
  settings: PostSettings.optional(),
  publishDate: DateText.optional(),
  tags: z.array(Tag).max(100).optional(),
  group: Group.optional(),
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

/** What a create body means. A date without an offset is a wall-clock time of `timezone`, or of UTC (S104). */
export function readBody({ date, ...body }: SentBody): CreateBody {
  const clean = cleanContents(fieldsOf(body));
  let at = 0;
  return {
    ...body,
    date:
      date && (date.isLocal && body.timezone ? new Date(zoneOf(body.timezone).instantOf(date.at.getTime())) : date.at),
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
