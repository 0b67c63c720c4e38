import { z } from 'zod';
import { refused, whenFailed } from '../kit/declare/fallback.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Connection, LookUp, Post, Published, Repost } from './_contract.ts';
import { addressOf, commentaryOf, encodedUrn, sameCommentary, type Settings } from './_linkedin.ts';
import { isCarousel, type MediaCall, Saved } from './_linkedin-media.ts';

const NEWEST = 50;

const Made = z.union([
  z.object({ status: z.literal(422), message: z.string().catch('without a reason') }).transform(({ message }) => ({
    message,
    duplicateOf: /duplicate of (urn:li:(?:share|ugcPost|activity):\d+)/i.exec(message)?.[1],
  })),
  z.object({ headers: z.object({ 'x-restli-id': z.string() }) }).transform(({ headers }) => headers),
]);
const Owned = z.object({
  id: z.string(),
  commentary: z.string().nullish(),
  createdAt: z.number().nullish(),
  publishedAt: z.number().nullish(),
  content: z
    .object({ media: z.unknown(), multiImage: z.object({ images: z.array(z.unknown()) }).nullish() })
    .partial()
    .nullish(),
  reshareContext: z.object({ parent: z.string().nullish() }).nullish(),
});
type Owned = z.output<typeof Owned>;

const published = (id: string): Published => ({ id, url: addressOf(id) });

/** Publishes what was uploaded. */
export const publishPost = ({ http, author, post, settings, saved }: MediaCall): Promise<Published> => {
  const { urns } = Saved.parse(saved);
  return create(http, {
    author,
    commentary: commentaryOf(post.text),
    ...(urns.length > 0 && { content: contentOf(post, settings, urns) }),
  });
};

/** Repeats a post of anybody. */
export const repeat = ({ http, author, repost }: Connection & { author: string; repost: Repost }): Promise<Published> =>
  create(http, { author, commentary: '', reshareContext: { parent: repost.published.id } });

/**
 * LinkedIn refuses a post that repeats one of the same author, and names it: it is the one of an attempt whose answer
 * was lost, so it is answered as published.
 */
async function create(http: Http, post: object): Promise<Published> {
  const made = await http.post('/rest/posts', Made, {
    json: {
      ...post,
      visibility: 'PUBLIC',
      distribution: { feedDistribution: 'MAIN_FEED', targetEntities: [], thirdPartyDistributionChannels: [] },
      lifecycleState: 'PUBLISHED',
      isReshareDisabledByAuthor: false,
    },
    accepts: [422],
    replyStatus: true,
    replyHeaders: ['x-restli-id'],
    creates: true,
  });
  if ('x-restli-id' in made) return published(made['x-restli-id']);
  const { message, duplicateOf } = made;
  if (duplicateOf === undefined) throw refused('rejected', `LinkedIn answered 422: ${message}`);
  const read = () => http.find(`/rest/posts/${encodedUrn(duplicateOf)}`, z.unknown());
  // posts of members can be read by few apps: a refusal says nothing about the post
  if ((await whenFailed('rejected', read, async () => null)) === undefined)
    throw refused('rejected', 'LinkedIn refuses the repeat of a post that was deleted; it takes it again after a day');
  return published(duplicateOf);
}

function contentOf(post: Post, settings: z.output<typeof Settings>, urns: readonly string[]) {
  const [id] = urns;
  const [file] = post.media;
  const title = settings.carousel_name || file!.alt || file!.name;
  if (isCarousel(post, settings) || file!.kind === 'document') return { media: { id, title } };
  if (urns.length === 1) return { media: { id, ...altOf(post, 0) } };
  return { multiImage: { images: urns.map((one, n) => ({ id: one, ...altOf(post, n) })) } };
}
const altOf = ({ media }: Post, n: number) => (media[n]!.alt ? { altText: media[n]!.alt.slice(0, 4_000) } : {});

type Asking = Pick<Connection, 'http'> & { author: string } & Pick<LookUp, 'since'>;

/** Lists the posts of the author since then that look like this one. */
export const findPosts = async (call: Asking & { post: Post; saved: unknown }): Promise<Published[]> => {
  const { urns } = Saved.parse(call.saved);
  const commentary = commentaryOf(call.post.text);
  return newest(
    call,
    (one) =>
      !one.reshareContext?.parent && filesOf(one) === urns.length && sameCommentary(one.commentary ?? '', commentary),
  );
};
const filesOf = ({ content }: Owned): number => content?.multiImage?.images.length ?? (content?.media ? 1 : 0);

/** Lists the reposts that the author made since then. */
export const findReposts = (call: Asking & { repost: Repost }): Promise<Published[]> =>
  newest(call, ({ reshareContext }) => reshareContext?.parent === call.repost.published.id);

async function newest({ http, author, since }: Asking, fits: (one: Owned) => boolean): Promise<Published[]> {
  const { elements } = await http.get('/rest/posts', z.object({ elements: z.array(Owned) }), {
    query: { q: 'author', author, count: String(NEWEST), sortBy: 'CREATED' },
    headers: { 'x-restli-method': 'FINDER' },
  });
  return elements
    .filter((one) => (one.createdAt ?? one.publishedAt ?? 0) >= since.getTime() && fits(one))
    .map(({ id }) => published(id));
}

export const removePost = (http: Http, { id }: Published): Promise<void> =>
  http.delete(`/rest/posts/${encodedUrn(id)}`);
