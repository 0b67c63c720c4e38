import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Operations } from './_contract.ts';
import { plainHandle } from './_handles.ts';
import { chosenPage, keepPage } from './_pages.ts';
import { list } from './_youtube-reading.ts';

const Thumbnail = z
  .object({ default: z.object({ url: z.url() }).optional() })
  .nullish()
  .catch(undefined);
const Channel = z.object({
  id: z.string(),
  snippet: z.object({ title: z.string(), customUrl: z.string().nullish(), thumbnails: Thumbnail }),
});
const Count = z.coerce.number().optional();
const Known = Channel.extend({
  statistics: z.object({
    hiddenSubscriberCount: z.boolean().nullish(),
    subscriberCount: Count,
    videoCount: Count,
    viewCount: Count,
  }),
});
const User = z.object({ id: z.string(), name: z.string().nullish(), email: z.string().nullish() });
const shown = ({ id, snippet: { title: name, customUrl, thumbnails } }: z.output<typeof Channel>) => ({
  id,
  name,
  handle: customUrl ?? '',
  picture: thumbnails?.default?.url,
});

/** The channels of the person who logged in. */
export const youtubeChannels = {
  /** The chosen channel, or before the choice the person. */
  async profile({ http, values }) {
    const chosen = chosenPage(values, 'channel');
    if (chosen === undefined) {
      const { id, name, email } = await http.get('/oauth2/v2/userinfo', User);
      return { id, name: name || email || id, handle: email ?? '' };
    }
    const query = { part: 'snippet', id: chosen };
    const [channel] = (await http.get('/youtube/v3/channels', list(Channel), { query })).items;
    if (!channel) throw refused('rejected', 'The channel is gone, or the login may not use it');
    return shown(channel);
  },
  async pages({ http }) {
    const query = { part: 'snippet', mine: 'true', maxResults: '50' };
    return (await http.get('/youtube/v3/channels', list(Channel), { query })).items.map(shown);
  },
  publicProfile: {
    by: 'channel',
    example: '@name',
    read: (typed) => plainHandle(typed, /^[\p{L}\p{N}._·-]{3,30}$/u),
    async find({ http, handle: forHandle }) {
      const query = { part: 'snippet,statistics', forHandle };
      const [found] = (await http.get('/youtube/v3/channels', list(Known), { query })).items;
      if (!found) return undefined;
      const { id, name, picture } = shown(found);
      const {
        hiddenSubscriberCount: isHidden,
        subscriberCount,
        videoCount: posts,
        viewCount: views,
      } = found.statistics;
      return { id, name, picture, counts: { followers: isHidden ? undefined : subscriberCount, posts, views } };
    },
  },
  choose: keepPage('channel'),
} satisfies Operations;
