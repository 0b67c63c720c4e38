import { z } from 'zod';
import { secret } from '../kit/declare/fields.ts';
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
import { social } from './_contract.ts';
import { asks, countsOf, data, edges, failure, findPublished, readComments, TYPES, upload } from './_hashnode-api.ts';

const Me = data({
  me: z.object({
    id: z.string(),
    username: z.string(),
    name: z.string().nullish(),
    profilePicture: z.string().nullish(),
  }),
});
const Publications = data({
  me: z.object({ publications: edges(z.object({ id: z.string(), title: z.string() })) }),
});
const Tagged = edges(z.object({ tags: z.array(z.object({ slug: z.string(), name: z.string() })).nullish() }));
const UsedTags = data({ me: z.object({ publications: edges(z.object({ posts: Tagged })) }), feed: Tagged });
const Draft = data({ createDraft: z.object({ draft: z.object({ id: z.string() }) }) });
const Post = data({ publishDraft: z.object({ post: z.object({ id: z.string(), url: z.string() }) }) });

const slugOf = (tag: string): string =>
  tag
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '');

/** https://github.com/Hashnode/gql-skill */
export default social({
  id: 'hashnode',
  version: 'v1',
  status: 'active',
  title: 'Hashnode',
  description: 'Articles in markdown in a publication on Hashnode.',
  website: 'https://hashnode.com',
  authType: 'api_key',
  setupNotes:
    'The publication needs the paid plan Pro: without it Hashnode refuses every article. Make a personal access token under Account settings > Developer. Articles are deleted, and comments written, at Hashnode alone.',
  credentials: { apiKey: secret('Personal access token') },
  api: 'https://gql-beta.hashnode.com',
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  errorOf: failure,
  errorInside: failure,
  login: { kind: 'credentials' },
  once: 'two-phase',
  threads: 'none',
  editor: 'markdown',
  // a whole request holds at most 100 kB
  limits: { text: 90_000, unit: 'bytes', media: 20, mediaTypes: TYPES },
  settings: z.looseObject({
    title: Title(250, 6),
    subtitle: Subtitle,
    main_image: FileSetting,
    canonical: Canonical,
    publication: PublicationId,
    tags: TagList.min(1).max(15),
  }),
  fileSettings: ['main_image'],

  async profile({ http }) {
    const { me } = (await http.post('/', Me, asks('query { me { id username name profilePicture } }'))).data;
    const { id, username, name, profilePicture: picture } = me;
    return { id, name: name || username, handle: `@${username}`, ...(picture && { picture }) };
  },

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

  metrics: ({ http, posts: [post] }) => countsOf(http, post!.id),
  comments: ({ http, published: { id }, cursor }) => readComments(http, id, cursor),

  tools: {
    publications: {
      description: 'Lists the publications of the account',
      data: z.object({}),
      async call({ http }) {
        const query = 'query { me { publications(first: 50) { edges { node { id title } } } } }';
        const { publications } = (await http.post('/', Publications, asks(query))).data.me;
        return publications.edges.map(({ node: { id, title } }) => ({ id, name: title }));
      },
    },
    tags: {
      description: 'Lists tags: those of own articles, then those of articles that Hashnode shows now',
      data: z.object({}),
      async call({ http }) {
        const tags = 'edges { node { tags { slug name } } }';
        const query = `query { me { publications(first: 10) { edges { node { posts(first: 20) { ${tags} } } } } } feed(first: 50) { ${tags} } }`;
        const { me, feed } = (await http.post('/', UsedTags, asks(query))).data;
        const lists = [...me.publications.edges.map(({ node }) => node.posts), feed];
        const all = lists.flatMap((list) => list.edges.flatMap(({ node }) => node.tags ?? []));
        return [...new Map(all.map(({ slug, name }) => [slug, name]))].map(([value, label]) => ({ value, label }));
      },
    },
  },
});
