import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { singleLine } from '../kit/declare/setting-texts.ts';
import type { Http } from '../kit/wire/http.ts';
import {
  Canonical,
  FileSetting,
  madeOf,
  PublicationId,
  Subtitle,
  TagList,
  Title,
  uploadNext,
  urlsOf,
  withPictures,
} from './_articles.ts';
import type { Media, Operations, Published } from './_contract.ts';
import { fitted } from './_files.ts';
import { asks, data, edges, TYPES } from './_hashnode-api.ts';

const RULES = { maxBytes: 8_000_000, types: TYPES };
const RECENT = 20;

export const Settings = z.looseObject({
  title: Title(250, 6),
  subtitle: Subtitle,
  main_image: FileSetting,
  canonical: Canonical,
  publication: PublicationId,
  tags: TagList(singleLine(100).regex(/[\p{L}\p{N}]/u), 'a tag has letters or digits, at most 100')
    .min(1)
    .max(15),
});
const Draft = data({ createDraft: z.object({ draft: z.object({ id: z.string() }) }) });
const Post = data({ publishDraft: z.object({ post: z.object({ id: z.string(), url: z.string() }) }) });

const slugOf = (tag: string): string =>
  tag
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '');

const Presigned = data({
  createImageUploadURL: z.object({
    presignedPost: z.object({ url: z.url(), fields: z.object({ key: z.string() }).catchall(z.string()) }),
  }),
});
async function upload(http: Http, file: Media): Promise<{ url: string }> {
  const picture = await fitted(file, RULES);
  const query =
    'mutation ($input: CreateImageUploadInput!) { createImageUploadURL(input: $input) { presignedPost { url fields } } }';
  const answer = await http.post('/', Presigned, asks(query, { input: { contentType: picture.contentType } }));
  const { url, fields } = answer.data.createImageUploadURL.presignedPost;
  await http.post(url, z.unknown(), { multipart: { ...fields, file: picture } });
  return { url: `https://cdn.hashnode.com/${fields.key}` };
}

const Drafted = data({ draft: z.object({ id: z.string() }).nullish() });
const Newest = data({
  publication: z.object({
    posts: edges(z.object({ id: z.string(), url: z.string(), title: z.string(), publishedAt: z.coerce.date() })),
  }),
});
/** A draft is gone once it is published: then its post is among the newest, when the answer is not an old one. */
async function findPublished(
  http: Http,
  { draft, publication, title, since }: { draft: string; publication: string; title: string; since: Date },
): Promise<readonly Published[] | undefined> {
  const left = await http.post('/', Drafted, asks('query ($id: ObjectId!) { draft(id: $id) { id } }', { id: draft }));
  if (left.data.draft) return undefined;
  const query = `query ($id: ObjectId!) { publication(id: $id) { posts(first: ${RECENT}) { edges { node { id url title publishedAt } } } } }`;
  const { posts } = (await http.post('/', Newest, asks(query, { id: publication }))).data.publication;
  const found = posts.edges.flatMap(({ node }) => (node.title === title && node.publishedAt >= since ? [node] : []));
  if (found.length === 0)
    throw refused('unavailable', 'The draft is published or deleted, and its article not shown yet');
  return found.map(({ id, url }) => ({ id, url }));
}

/** Articles: a draft is made, then published. */
export const hashnodeArticles = {
  async prepare({ http, post, settings, saved, save }) {
    const made = await uploadNext({ post, saved, save }, (file) => upload(http, file));
    if (!made) return { againMs: 0 };
    if (made.draft !== undefined) return 'ready';
    const { title, subtitle, canonical, publication: publicationId, tags } = settings;
    const urls = urlsOf(made);
    const cover = urls[post.media.length];
    const input = {
      publicationId,
      title,
      contentMarkdown: withPictures(post, urls),
      tags: tags.map((name) => ({ slug: slugOf(name), name })),
      ...(subtitle && { subtitle }),
      ...(canonical && { originalArticleURL: canonical }),
      ...(cover !== undefined && { coverImageOptions: { coverImageURL: cover } }),
    };
    const query = 'mutation ($input: CreateDraftInput!) { createDraft(input: $input) { draft { id } } }';
    const { createDraft } = (await http.post('/', Draft, asks(query, { input }))).data;
    await save({ ...made, draft: createDraft.draft.id });
    return 'ready';
  },
  async publish({ http, saved }) {
    const query = 'mutation ($input: PublishDraftInput!) { publishDraft(input: $input) { post { id url } } }';
    const input = { draftId: madeOf(saved).draft };
    return (await http.post('/', Post, { ...asks(query, { input }), creates: true })).data.publishDraft.post;
  },
  async find({ http, saved, since, settings: { title, publication } }) {
    const { draft } = madeOf(saved);
    return draft === undefined ? undefined : findPublished(http, { draft, publication, title, since });
  },
} satisfies Operations<typeof Settings>;
