import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Http } from '../kit/wire/http.ts';
import { WITHOUT_FILES } from './_bounds.ts';
import type { NewComment, Operations, Published } from './_contract.ts';
import { uploadEach } from './_files.ts';
import { sinceThen } from './_lists.ts';
import { listOf, me, RAW, Said, secondsToDate } from './_reddit-reading.ts';
import {
  answerOf,
  crosspost,
  dataOf,
  filesOf,
  Saved,
  type Settings,
  SITE,
  submit,
  targetOf,
  upload,
} from './_reddit-submit.ts';

const POLL_MS = 10_000;
/** By which the clock of Reddit may be behind ours. */
const CLOCKS_MS = 60_000;
/** Files are worked on before their post is shown, so that it appears late. */
const SHOWN_WITHIN_MS = 5 * 60_000;
const NEWEST = 100;
const Thing = z.object({ data: z.object({ name: z.string(), permalink: z.string() }) });
const Own = z.object({
  name: z.string(),
  title: z.string(),
  subreddit: z.string(),
  created_utc: secondsToDate,
  permalink: z.string(),
});

type Looking = { http: Http; since: Date };
/** Lists the own posts since then with this title in this subreddit, newest first. */
async function ownPosts({
  http,
  since,
  target,
}: Looking & { target: { subreddit: string; title: string } }): Promise<Published[]> {
  const { name: user } = await me(http);
  const { data } = await http.get(`/user/${encodeURIComponent(user)}/submitted`, listOf(Own), {
    query: { ...RAW, sort: 'new', limit: String(NEWEST) },
  });
  return sinceThen(
    data.children.map((child) => child.data),
    NEWEST,
    ({ created_utc: at }) => at >= wholeSeconds(since),
  )
    .filter(({ title, subreddit: sr }) => title === target.title && sr.toLowerCase() === target.subreddit.toLowerCase())
    .map(({ name: id, permalink }) => ({ id, url: SITE + permalink }));
}
/** Reddit tells whole seconds. */
const wholeSeconds = (date: Date) => new Date(Math.floor(date.getTime() / 1_000) * 1_000);
/** Lists the own comments since then with this text at the same place. */
async function ownComments({ http, since, published, parent, post }: Looking & NewComment): Promise<Published[]> {
  const { name } = await me(http);
  const { data } = await http.get(`/user/${encodeURIComponent(name)}/comments`, listOf(Said), {
    query: { ...RAW, sort: 'new', limit: String(NEWEST) },
  });
  return sinceThen(
    data.children.map((child) => child.data),
    NEWEST,
    ({ created_utc: at }) => at >= wholeSeconds(since),
  )
    .filter(({ body, parent_id: below }) => below === (parent?.id ?? published.id) && body === post.text)
    .map(({ name: id, permalink }) => ({ id, url: SITE + permalink }));
}

/** Posts of a subreddit, and comments. */
export const redditPosts = {
  async prepare({ http, clock, post, saved, save }) {
    const files = await filesOf(post);
    return uploadEach(
      files,
      Saved.parse(saved).assets,
      (file) => upload({ http, clock }, file),
      (assets) => save({ assets }),
    );
  },
  async publish({ http, clock, post, settings: { subreddit }, saved, save }) {
    const { assets } = Saved.parse(saved);
    if (assets.length > 0) await save({ assets, sentAt: clock.now().toISOString() });
    const made = await submit(http, { post, target: subreddit[0].value, assets });
    return made ?? { processingMs: POLL_MS };
  },
  async poll({ http, settings, saved }) {
    const sentAt = Saved.parse(saved).sentAt!; // `publish`
    const since = new Date(sentAt.getTime() - CLOCKS_MS);
    const own = await ownPosts({ http, target: settings.subreddit[0].value, since });
    return own[0] ?? { processingMs: POLL_MS };
  },
  async find({ clock, saved, ...call }) {
    const own = await ownPosts({ ...call, target: call.settings.subreddit[0].value });
    const { sentAt } = Saved.parse(saved);
    if (own.length === 0 && sentAt && clock.now().getTime() - sentAt.getTime() < SHOWN_WITHIN_MS)
      throw refused('unavailable', 'Reddit may show the post yet: one with files appears within minutes');
    return own;
  },
  async remove({ http, published: { id } }) {
    await http.post('/api/del', z.unknown(), { form: { id } });
  },
  comment: {
    once: 'read-back',
    replies: true,
    limits: { text: 10_000, ...WITHOUT_FILES },
    async send({ http, published: { id }, parent, post }) {
      const answer = await http.post('/api/comment', answerOf(z.object({ things: z.tuple([Thing]) })), {
        form: { api_type: 'json', thing_id: parent?.id ?? id, text: post.text },
        query: RAW,
        creates: true,
      });
      const { name, permalink } = dataOf(answer).things[0].data;
      return { id: name, url: SITE + permalink };
    },
    find: (call) => ownComments(call),
  },
  repost: {
    once: 'read-back',
    send: ({ http, repost }) => crosspost(http, repost),
    find: ({ repost, ...call }) => ownPosts({ ...call, target: targetOf(repost) }),
  },
} satisfies Operations<typeof Settings>;
