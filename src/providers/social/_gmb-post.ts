import { z } from 'zod';
import type { Post } from './_contract.ts';

const address = z.union([z.literal(''), z.url({ protocol: /^https?$/ })]).optional();
const date = z.union([z.literal(''), z.iso.date()]).optional();
const time = z.union([z.literal(''), z.iso.time({ precision: -1 })]).optional();
/** Settings of a local post; what an event, an offer or a button needs is named. */
export const Settings = z
  .looseObject({
    topicType: z.enum(['STANDARD', 'EVENT', 'OFFER']).default('STANDARD'),
    callToActionType: z.enum(['NONE', 'BOOK', 'ORDER', 'SHOP', 'LEARN_MORE', 'SIGN_UP', 'CALL']).default('NONE'),
    callToActionUrl: address,
    eventTitle: z.string().max(58).optional(),
    eventStartDate: date,
    eventStartTime: time,
    eventEndDate: date,
    eventEndTime: time,
    offerCouponCode: z.string().max(58).optional(),
    offerRedeemUrl: address,
    offerTerms: z.string().max(5_000).optional(),
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

const dateOf = (text: string) => {
  const [year, month, day] = text.split('-').map(Number);
  return { year, month, day };
};
const timeOf = (text: string) => {
  const [hours, minutes] = text.split(':').map(Number);
  return { hours, minutes };
};
/** The body of a local post. */
export function localPost({ text, media }: Post, chosen: Chosen) {
  const { topicType, callToActionType: action, eventTitle, offerCouponCode, offerRedeemUrl, offerTerms } = chosen;
  const { eventStartDate, eventStartTime, eventEndDate, eventEndTime } = chosen;
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
    ...(media.length > 0 && {
      media: media.map(({ publicUrl }) => ({ mediaFormat: 'PHOTO', sourceUrl: publicUrl })),
    }),
  };
}
