import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Operations } from './_contract.ts';
import { federatedHandle, localName } from './_handles.ts';
import { chosenPage, keepPage } from './_pages.ts';
import type { credentials } from './_peertube-login.ts';
import { seriesOfNow } from './_series.ts';

const Avatars = z.array(z.object({ path: z.string() })).nullish();
export const pictureAt = (service: string, avatars: z.output<typeof Avatars>): string | undefined => {
  const last = avatars?.at(-1);
  return last && new URL(last.path, service).href;
};
export const Account = z.object({
  id: z.number(),
  name: z.string(),
  displayName: z.string().nullish(),
  host: z.string().nullish(),
  avatars: Avatars,
});
const Known = Account.extend({ followersCount: z.number().nullish() });
const Me = z.object({
  username: z.string(),
  account: Account,
  videoChannels: z.array(Known).default([]),
});
export const me = (http: Http) => http.get('/users/me', Me);

/** The number of the chosen channel. */
export const channelOf = (values: object): number => {
  const channel = chosenPage(values, 'channel');
  if (channel === undefined) throw refused('rejected', 'No channel was chosen');
  return Number(channel);
};
/** An account, or a channel of it; ids are those of one server. */
const shown = (service: string, { id, name, displayName, avatars }: z.output<typeof Account>) => {
  const { host } = new URL(service);
  return {
    id: `${id}@${host}`,
    name: displayName || name,
    handle: `@${name}@${host}`,
    server: service,
    picture: pictureAt(service, avatars),
  };
};

/** The channels of the account. */
export const peertubeChannels = {
  async profile({ http, values }) {
    const { account, videoChannels } = await me(http);
    const chosen = chosenPage(values, 'channel');
    const of = chosen === undefined ? account : videoChannels.find(({ id }) => String(id) === chosen);
    if (!of) throw refused('rejected', 'The channel is gone');
    return shown(values.service, of);
  },
  async pages({ http, values: { service } }) {
    const { videoChannels } = await me(http);
    return videoChannels.map((one) => {
      const { id, name, handle, picture } = shown(service, one);
      return { id, name, handle, picture };
    });
  },
  choose: ({ page, ...call }) => keepPage('channel')({ ...call, page: page.split('@')[0]! }),
  publicProfile: {
    by: 'anyone',
    example: '@name@video.example',
    read: (typed) => federatedHandle(typed, 'service'),
    /** A channel, or an account. */
    async find({ http, values: { service }, handle }) {
      const name = encodeURIComponent(localName(handle));
      const found =
        (await http.find(`/video-channels/${name}`, Known)) ?? (await http.find(`/accounts/${name}`, Known));
      if (!found) return undefined;
      const { id, name: title, picture } = shown(service, found);
      return { id, name: title, picture, counts: { followers: found.followersCount } };
    },
  },
  async channelMetrics({ http, values, clock }) {
    const { videoChannels } = await me(http);
    const own = videoChannels.find(({ id }) => id === channelOf(values));
    return seriesOfNow(clock, { followers: own?.followersCount });
  },
} satisfies Operations<z.ZodType, typeof credentials>;
