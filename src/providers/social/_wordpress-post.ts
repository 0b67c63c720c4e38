import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Field } from '../kit/declare/fields.ts';
import { trimmedLine } from '../kit/declare/setting-texts.ts';
import { FileSetting, type Made, madeOf, Title, uploadNext } from './_articles.ts';
import type { Media, Operations, Post, Published } from './_contract.ts';
import { sentFile } from './_files.ts';

const UPLOAD_MS = 120_000;
export const TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp', 'image/avif'];

const Id = z.union([z.int().positive(), z.string().regex(/^\d{1,15}$/)]).transform(Number);
const Name = trimmedLine(200);
/** The site tells no more of them in one answer. */
const MOST_TERMS = 100;
/** A tag by its id, or by its name, which may be a number, too. */
const Tag = z.union([z.int().positive(), Name, z.object({ value: z.union([Id, Name]) }).transform((tag) => tag.value)]);
export const Settings = z
  .looseObject({
    title: Title(500),
    main_image: FileSetting,
    /** The name of a type of posts in addresses. */
    type: z
      .string()
      .regex(/^[\w-]{1,100}$/)
      .default('posts'),
    categories: z
      .array(z.union([Id, z.object({ value: Id }).transform(({ value }) => value)]))
      .max(MOST_TERMS)
      .optional(),
    tags: z.array(Tag).max(MOST_TERMS).optional(),
    status: z.enum(['publish', 'draft', 'pending', 'private']).default('publish'),
  })
  .check(({ value, issues }) => {
    if (value.type !== 'pages') return;
    // the site would leave them out without a word
    for (const key of ['categories', 'tags'] as const)
      if (value[key]?.length)
        issues.push({ code: 'custom', path: [key], message: 'must be empty: pages have none', input: value });
  });

const TERMS = { category: 'categories', tag: 'tags' } as const;
const File = z.object({ id: z.number(), source_url: z.string() });
export const Entry = z.object({ id: z.number(), link: z.string() });
/** A term that exists already is told in a refusal. */
const Term = z.union([
  z.object({ id: z.number() }).transform(({ id }) => id),
  z.object({ data: z.object({ term_id: z.number() }) }).transform(({ data }) => data.term_id),
]);

/** What is needed to find an entry again: its type in addresses, and its site, as ids are those of one site. */
const Place = z.object({ type: z.string(), site: z.string() });
/** The type of an entry. Of one that a person has named it is not known, and its number may be that of another one. */
function typeOf({ saved }: Pick<Published, 'saved'>): string {
  const { data } = Place.safeParse(saved);
  if (!data) throw refused('rejected', 'The type of the entry is not known: delete it at the site');
  return data.type;
}
export const publishedAs = (place: z.output<typeof Place>, { id, link }: z.output<typeof Entry>): Published => ({
  id: String(id),
  url: link,
  saved: place,
});

async function upload(http: Http, file: Media): Promise<{ id: number; url: string }> {
  const bytes = await sentFile(file, { types: TYPES });
  const { id, source_url: url } = await http.post('/wp/v2/media', File, {
    multipart: { alt_text: file.alt || undefined, file: bytes },
    timeoutMs: UPLOAD_MS,
  });
  return { id, url };
}

/** The site drops the ids of terms that it does not have, and says nothing of them. */
async function checkTerms(http: Http, kind: 'category' | 'tag', ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  const known = await http.get(`/wp/v2/${TERMS[kind]}`, z.array(z.object({ id: z.number() })), {
    query: { include: ids.join(','), per_page: String(MOST_TERMS), _fields: 'id' },
  });
  const gone = [...new Set(ids)].filter((id) => known.every((term) => term.id !== id));
  if (gone.length > 0)
    throw refused('rejected', `The site has no ${kind} ${gone.join(', ')} any more: choose among those that it has`);
}

/** Stores the article as a draft, with tags that are made where they are not there; answers its id. */
async function createDraft(
  http: Http,
  { post, settings, files }: Pick<Made, 'files'> & { post: Post; settings: z.output<typeof Settings> },
): Promise<string> {
  const { title, type, categories = [], tags = [] } = settings;
  const known = tags.filter((tag) => typeof tag === 'number');
  await checkTerms(http, 'category', categories);
  await checkTerms(http, 'tag', known);
  const cover = files[post.media.length];
  const tagIds: number[] = [];
  for (const tag of tags) tagIds.push(typeof tag === 'number' ? tag : await tagNamed(http, tag));
  const { id } = await http.post(`/wp/v2/${type}`, Entry, {
    json: {
      title: escapedHtml(title),
      content: contentOf(post, files),
      status: 'draft',
      ...(cover?.id !== undefined && { featured_media: cover.id }),
      ...(categories.length > 0 && { categories }),
      ...(tagIds.length > 0 && { tags: tagIds }),
    },
  });
  return String(id);
}

const tagNamed = (http: Http, name: string) => http.post('/wp/v2/tags', Term, { json: { name }, accepts: [400] });

/** The text in paragraphs, with its files below it as the blocks of the site show them. */
const contentOf = ({ text, media }: Post, files: Made['files']): string =>
  [
    ...text.split(/\n{2,}/).map((paragraph) => paragraph && `<p>${paragraph.replaceAll('\n', '<br>')}</p>`),
    ...media.map((file, n) => figureOf(file, files[n]!)),
  ]
    .filter((part) => part !== '')
    .join('\n');

function figureOf({ kind, alt }: Media, { id, url }: Made['files'][number]): string {
  const src = escapedHtml(url);
  return kind === 'image'
    ? `<figure class="wp-block-image"><img src="${src}" alt="${escapedHtml(alt)}" class="wp-image-${id}"></figure>`
    : `<figure class="wp-block-video"><video controls src="${src}"></video></figure>`;
}
/** For a title, too, which the site reads as HTML. */
const escapedHtml = (value: string): string =>
  value.replace(/[&<>"]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[sign]!);

/** Posts: a draft is made, then given the status that was chosen. */
export const wordpressPosts = {
  async prepare({ http, ...call }) {
    const made = await uploadNext(call, (file) => upload(http, file));
    if (!made) return { againMs: 0 };
    if (made.draft === undefined) await call.save({ ...made, draft: await createDraft(http, { ...call, ...made }) });
    return 'ready';
  },
  async publish({ http, values: { domain: site }, saved, settings: { type, status } }) {
    const { draft } = madeOf(saved);
    const entry = await http.post(`/wp/v2/${type}/${draft}`, Entry, { json: { status }, creates: true });
    return publishedAs({ type, site }, entry);
  },
  async find({ http, values: { domain: site }, saved, settings: { type, status } }) {
    const { draft } = madeOf(saved);
    if (draft === undefined) return undefined;
    const entry = await http.find(`/wp/v2/${type}/${draft}`, Entry.extend({ status: z.string() }), {
      query: { context: 'edit' },
    });
    return entry?.status === status ? publishedAs({ type, site }, entry) : undefined;
  },
  remove: async ({ http, published }) => http.delete(`/wp/v2/${typeOf(published)}/${published.id}`),
} satisfies Operations<typeof Settings, Record<'domain' | 'username' | 'password', Field>>;
