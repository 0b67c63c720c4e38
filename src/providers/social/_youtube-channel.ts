import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Values } from '../kit/declare/fields.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Page, Profile } from './_contract.ts';
import { list } from './_youtube-reading.ts';

/** The chosen channel; undefined before the choice. */
export const pageOf = (values: Values) => values['channel'];
const Thumbnail = z
  .object({ default: z.object({ url: z.url() }).optional() })
  .nullish()
  .catch(undefined);
const Channel = z.object({
  id: z.string(),
  snippet: z.object({ title: z.string(), customUrl: z.string().nullish(), thumbnails: Thumbnail }),
});
const User = z.object({ id: z.string(), name: z.string().nullish(), email: z.string().nullish() });

/** The chosen channel, or before the choice the person who logged in. */
export async function profileOf(http: Http, page: string | undefined): Promise<Profile> {
  if (page === undefined) {
    const { id, name, email } = await http.get('/oauth2/v2/userinfo', User);
    return { id, name: name || email || id, handle: email ?? '' };
  }
  const query = { part: 'snippet', id: page };
  const { items } = await http.get('/youtube/v3/channels', list(Channel), { query });
  const [channel] = items;
  if (!channel) throw refused('rejected', 'The channel is gone, or the login may not use it');
  const { title: name, customUrl, thumbnails } = channel.snippet;
  const picture = thumbnails?.default?.url;
  return { id: channel.id, name, handle: customUrl ?? '', ...(picture && { picture }) };
}

/** The channels of the person who logged in. */
export async function ownChannels(http: Http): Promise<Page[]> {
  const { items } = await http.get('/youtube/v3/channels', list(Channel), {
    query: { part: 'snippet', mine: 'true', maxResults: '50' },
  });
  return items.map(({ id, snippet: { title: name, customUrl, thumbnails } }) => ({
    id,
    name,
    handle: customUrl ?? undefined,
    picture: thumbnails?.default?.url,
  }));
}
