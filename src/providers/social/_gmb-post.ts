import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { multiLine, singleLine } from '../kit/declare/setting-texts.ts';
import { Canonical } from './_articles.ts';
import type { Operations, Polled, Post, Published } from './_contract.ts';
import { fitted } from './_files.ts';
import { locationOf } from './_gmb-locations.ts';
import { publicUrlOf } from './_limits.ts';
import { sinceThen } from './_lists.ts';

const date = z.union([z.literal(''), z.iso.date()]).optional();
const time = z.union([z.literal(''), z.iso.time({ precision: -1 })]).optional();
/** Settings of a local post; what an event, an offer or a button needs is named. */
export const Settings = z
  .looseObject({
    topicType: z.enum(['STANDARD', 'EVENT', 'OFFER']).default('STANDARD'),
    callToActionType: z.enum(['NONE', 'BOOK', 'ORDER', 'SHOP', 'LEARN_MORE', 'SIGN_UP', 'CALL']).default('NONE'),
    callToActionUrl: Canonical,
    eventTitle: singleLine(58).optional(),
    eventStartDate: date,
    eventStartTime: time,
    eventEndDate: date,
    eventEndTime: time,
    offerCouponCode: singleLine(58).optional(),
    offerRedeemUrl: Canonical,
    offerTerms: multiLine(5_000).optional(),
  })
  .check(({ value, issues }) => {
    const miss = (key: string, why: string) =>
      issues.push({ code: 'custom', path: [key], message: `is needed ${why}`, input: value });
    const { topicType, callToActionType: action } = value;
    if (topicType !== 'STANDARD')
      for (const key of ['eventTitle', 'eventStartDate', 'eventEndDate'] as const)
        if (!value[key]) miss(key, 'for an event or an offer');
    if (topicType !== 'OFFER' && action !== 'NONE' && action !== 'CALL' && !value.callToActionUrl)
      miss('callToActionUrl', 'for this button');
  });
type Chosen = z.output<typeof Settings>;

export const PHOTO = { maxBytes: 5_000_000, types: ['image/jpeg', 'image/png'] };

const dateOf = (text: string) => {
  const [year, month, day] = text.split('-').map(Number);
  return { year, month, day };
};
const timeOf = (text: string) => {
  const [hours, minutes] = text.split(':').map(Number);
  return { hours, minutes };
};
/** The body of a local post. */
async function localPost({ text, media }: Post, chosen: Chosen) {
  const { topicType, callToActionType: action, eventTitle, offerCouponCode, offerRedeemUrl, offerTerms } = chosen;
  const { eventStartDate, eventStartTime, eventEndDate, eventEndTime } = chosen;
  const [photo] = media;
  return {
    languageCode: 'en',
    summary: text,
    topicType,
    ...(action !== 'NONE' &&
      topicType !== 'OFFER' && {
        callToAction: { actionType: action, ...(action !== 'CALL' && { url: chosen.callToActionUrl }) },
      }),
    ...(topicType !== 'STANDARD' && {
      event: {
        title: eventTitle,
        schedule: {
          startDate: dateOf(eventStartDate!), // the settings need both
          ...(eventStartTime && { startTime: timeOf(eventStartTime) }),
          endDate: dateOf(eventEndDate!),
          ...(eventEndTime && { endTime: timeOf(eventEndTime) }),
        },
      },
    }),
    ...(topicType === 'OFFER' && {
      offer: {
        ...(offerCouponCode && { couponCode: offerCouponCode }),
        ...(offerRedeemUrl && { redeemOnlineUrl: offerRedeemUrl }),
        ...(offerTerms && { termsConditions: offerTerms }),
      },
    }),
    ...(photo && { media: [{ mediaFormat: 'PHOTO', sourceUrl: publicUrlOf(await fitted(photo, PHOTO)) }] }),
  };
}

const LocalPost = z.object({
  name: z.string(),
  state: z.string().optional(),
  summary: z.string().optional(),
  searchUrl: z.string().optional(),
  createTime: z.coerce.date().optional(),
  media: z.array(z.unknown()).default([]),
});
const LocalPosts = z.object({ localPosts: z.array(LocalPost).default([]) });
const PAGE = 100;
const POLL_MS = 30_000;
const Saved = z.object({ name: z.string() });
const published = ({ name, searchUrl }: z.output<typeof LocalPost>): Published => ({ id: name, url: searchUrl ?? '' });

/** Google looks at every post before it shows it, which takes seconds to hours, and names no reason for a refusal. */
function stateOf(post: z.output<typeof LocalPost>): Polled {
  if (post.state === 'PROCESSING') return { processingMs: POLL_MS };
  if (post.state !== 'REJECTED') return published(post);
  return { rejected: 'Google rejected the post, as one against its content policy, such as with a telephone number' };
}

/** Local posts: updates, events and offers. */
export const gmbPosts = {
  async publish({ http, values, post, settings, save }) {
    const made = await http.post(`/${locationOf(values)}/localPosts`, LocalPost, {
      json: await localPost(post, settings),
      creates: true,
    });
    await save({ name: made.name });
    const state = stateOf(made);
    if ('rejected' in state) throw refused('rejected', state.rejected);
    return 'id' in state ? state : { processingMs: POLL_MS };
  },
  async poll({ http, saved }) {
    const post = await http.find(`/${Saved.parse(saved).name}`, LocalPost);
    return post ? stateOf(post) : { rejected: 'Google took the post away' };
  },
  async find({ http, values, post, since }) {
    const { localPosts } = await http.get(`/${locationOf(values)}/localPosts`, LocalPosts, {
      query: { pageSize: String(PAGE) },
    });
    const isSince = ({ createTime }: (typeof localPosts)[number]) => createTime !== undefined && createTime >= since;
    const similar = sinceThen(localPosts, PAGE, isSince).filter(
      ({ summary = '', media, state }) =>
        state !== 'REJECTED' &&
        summary.trim() === post.text.trim() && // Google leaves out a summary without text
        media.length === post.media.length,
    );
    if (similar.some(({ state }) => state === 'PROCESSING'))
      throw refused('unavailable', 'Google still looks at a post like this one, and may reject it');
    return similar.map(published);
  },
  remove: ({ http, published: { id } }) => http.delete(`/${id}`),
} satisfies Operations<typeof Settings>;
