import { z } from 'zod';
import { singleLine, webAddress } from '../kit/declare/setting-texts.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Operations, Post, Published } from './_contract.ts';
import { sinceThen } from './_lists.ts';
import { isVideo, mediaSource, prepareVideo } from './_pinterest-media.ts';

const NEWEST = 100;
const ANSWER_BYTES = 4 * 1024 * 1024;

export const Settings = z.looseObject({
  board: z.string().regex(/^\d{1,64}$/),
  title: singleLine(100).optional(),
  link: z.union([z.literal(''), webAddress(2_048)]).optional(),
  dominant_color: z.union([z.literal(''), z.string().regex(/^#[0-9a-f]{6}$/i)]).optional(),
});
const Pin = z.object({ id: z.string() });
const OwnPins = z.object({
  items: z.array(
    Pin.extend({
      title: z.string().nullish(),
      description: z.string().nullish(),
      link: z.string().nullish(),
      created_at: z.string(),
      parent_pin_id: z.string().nullish(),
      media: z.object({ media_type: z.string(), items: z.array(z.unknown()).nullish() }).nullish(),
    }),
  ),
});
type OwnPin = z.output<typeof OwnPins>['items'][number];

const published = ({ id }: { id: string }): Published => ({ id, url: `https://www.pinterest.com/pin/${id}` });
/** The time of a pin, which may be told without a zone: it is UTC. */
const madeAt = ({ created_at: at }: OwnPin): Date => new Date(/(?:Z|[+-]\d\d:?\d\d)$/i.test(at) ? at : `${at}Z`);
/** A pin with several pictures names them, every other one has a single file, and a picture as cover of a video. */
const sameFiles = ({ media }: OwnPin, post: Post): boolean =>
  !media || (media.media_type === 'multiple_images' ? (media.items?.length ?? post.media.length) : 1) === filesOf(post);
const filesOf = ({ media }: Post): number => (media.some(isVideo) ? 1 : media.length);
/** The pins of the account, or of one of its boards, since then. */
async function pinsSince(http: Http, path: string, since: Date): Promise<OwnPin[]> {
  const query = { page_size: String(NEWEST) };
  const { items } = await http.get(path, OwnPins, { query, answerBytes: ANSWER_BYTES });
  return sinceThen(items, NEWEST, (pin) => madeAt(pin) >= since);
}

/** Pins, and pins of others that are saved. */
export const pins = {
  prepare: (call) => prepareVideo(call),
  async publish({ http, post, settings: { board, title, link, dominant_color }, saved }) {
    const { alt } = post.media.find(isVideo) ?? post.media[0]!; // `needsMedia`; a picture beside a video is its cover
    const json = {
      board_id: board,
      media_source: await mediaSource(post, saved),
      ...(post.text && { description: post.text }),
      ...(title && { title }),
      ...(link && { link }),
      ...(dominant_color && { dominant_color }),
      ...(alt && { alt_text: alt.slice(0, 500) }),
    };
    return published(await http.post('/pins', Pin, { json, creates: true }));
  },
  async find({ http, post, settings: { board, title, link }, since }) {
    return (await pinsSince(http, `/boards/${board}/pins`, since))
      .filter(
        (pin) =>
          (pin.title ?? '') === (title ?? '') &&
          (pin.description ?? '').trim() === post.text.trim() &&
          (!link || (pin.link ?? link) === link) &&
          sameFiles(pin, post),
      )
      .map(published);
  },
  remove: ({ http, published: { id } }) => http.delete(`/pins/${encodeURIComponent(id)}`),

  /** Saves the pin of another channel to the profile. */
  repost: {
    once: 'read-back',
    send: async ({ http, repost }) =>
      published(
        await http.post(`/pins/${encodeURIComponent(repost.published.id)}/save`, Pin, { json: {}, creates: true }),
      ),
    async find({ http, repost, since }) {
      return (await pinsSince(http, '/pins', since))
        .filter((pin) => pin.parent_pin_id === repost.published.id)
        .map(published);
    },
  },
} satisfies Operations<typeof Settings>;
