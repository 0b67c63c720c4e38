import { z } from 'zod';
import { refused, refusedRepeat, unlessMade, whenFailed } from '../kit/declare/fallback.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Connection, LookUp, Post, Published, Repost, Saving } from './_contract.ts';
import { addressOf, commentaryOf, encodedUrn, sameCommentary, type Settings } from './_linkedin.ts';
import { isCarousel, type MediaCall, Saved } from './_linkedin-media.ts';
import { sinceThen } from './_lists.ts';

const NEWEST = 50;
/** The clocks of LinkedIn and of this process may differ by this much. */
const CLOCKS_MS = 60_000;

const Made = z.union([
  z.object({ status: z.literal(422), message: z.string().catch('without a reason') }).transform(({ message }) => ({
    message,
    duplicateOf: /duplicate of (urn:li:(?:share|ugcPost|activity):\d+)/i.exec(message)?.[1],
  })),
  z.object({ headers: z.object({ 'x-restli-id': z.string() }) }).transform(({ headers }) => headers),
]);
const Dated = z.object({ createdAt: z.number().nullish() });
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
export const publishPost = ({ author, post, settings, ...call }: MediaCall): Promise<Published> => {
  const { urns, ready } = Saved.parse(call.saved);
  return create(
    call,
    { urns, ready },
    {
      author,
      commentary: commentaryOf(post.text),
      ...(urns.length > 0 && { content: contentOf(post, settings, urns) }),
    },
  );
};

/** Repeats a post of anybody. */
export const repeat = ({ author, repost, ...call }: Creating & { author: string; repost: Repost }) =>
  create(call, {}, { author, commentary: '', reshareContext: { parent: repost.published.id } });

type Creating = Connection & Saving;
/** `state`: what is saved beside the time. */
async function create(call: Creating, state: object, post: object): Promise<Published> {
  const { http, clock, saved, save } = call;
  const { sentAt } = Saved.parse(saved);
  const send = () =>
    http.post('/rest/posts', Made, {
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
  if (sentAt === undefined) await save({ ...state, sentAt: clock.now().toISOString() });
  const made = await (sentAt === undefined ? unlessMade(send, () => save(state)) : send());
  if ('x-restli-id' in made) return published(made['x-restli-id']);
  const { message, duplicateOf } = made;
  if (duplicateOf === undefined) throw refused('rejected', `LinkedIn answered 422: ${message}`);
  return adopt(http, duplicateOf, sentAt);
}

/**
 * LinkedIn refuses a post that repeats one of the same author, and names it: it is that of an attempt whose answer was
 * lost, where there was one and the post is not older.
 */
async function adopt(http: Http, duplicateOf: string, sentAt: string | undefined): Promise<Published> {
  const isOther = () => refusedRepeat(`LinkedIn refuses a repeat of the post ${addressOf(duplicateOf)}`);
  if (sentAt === undefined) throw isOther();
  const read = () => http.find(`/rest/posts/${encodedUrn(duplicateOf)}`, Dated);
  // posts of members can be read by few apps: a refusal says nothing about the post
  const post = await whenFailed('rejected', read, async () => ({ createdAt: undefined }));
  if (post === undefined)
    throw refusedRepeat('LinkedIn refuses the repeat of a post that was deleted; it takes it again after a day');
  if ((post.createdAt ?? Infinity) < Date.parse(sentAt) - CLOCKS_MS) throw isOther();
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
  return sinceThen(elements, NEWEST, (one) => (one.createdAt ?? one.publishedAt ?? 0) >= since.getTime())
    .filter(fits)
    .map(({ id }) => published(id));
}

export const removePost = (http: Http, { id }: Published): Promise<void> =>
  http.delete(`/rest/posts/${encodedUrn(id)}`);
