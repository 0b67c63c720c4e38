import { z } from 'zod';
import type { Http } from '../kit/wire/http.ts';
import { prepareCard } from './_bluesky-card.ts';
import type { credentials } from './_bluesky-login.ts';
import { type Reply, writePost } from './_bluesky-post.ts';
import {
  findRecord,
  GATE,
  known,
  POST,
  publishedAs,
  Reference,
  REPOST,
  writeKeyed,
  writeRecord,
} from './_bluesky-records.ts';
import { prepareVideo } from './_bluesky-video.ts';
import type { Operations, Published } from './_contract.ts';

export const Settings = z.looseObject({
  replyGate: z.enum(['everyone', 'nobody', 'mentioned', 'followers', 'following']).optional(),
  languages: z
    .array(z.string().regex(/^[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8}){0,4}$/))
    .max(3)
    .optional(),
  selfLabels: z
    .array(z.enum(['sexual', 'nudity', 'porn', 'graphic-media']))
    .max(10)
    .optional(),
});

const GATES: Readonly<Record<string, readonly string[]>> = {
  nobody: [],
  mentioned: ['mentionRule'],
  followers: ['followerRule'],
  following: ['followingRule'],
};

/** An answer is in the thread of the post above; of a release that a person named, no more than its id was kept. */
async function answerTo(http: Http, above: Pick<Published, 'id' | 'saved'>): Promise<Reply> {
  const { uri, cid, root = { uri, cid } } = await known(http, above);
  return { root, parent: { uri, cid } };
}
const replyTo = async (http: Http, thread: readonly Published[]): Promise<Reply | undefined> => {
  const above = thread.at(-1);
  return above && answerTo(http, above);
};

/** Posts, threads, answers and reposts: records of the account. */
export const blueskyFeed = {
  async prepare(call) {
    await prepareCard(call);
    return prepareVideo(call);
  },
  async publish({ settings, thread, ...call }) {
    const { http, account } = call;
    const { replyGate = 'everyone', languages, selfLabels } = settings;
    const reply = await replyTo(http, thread);
    const fields = {
      ...(languages?.length && { langs: languages }),
      ...(selfLabels?.length && {
        labels: { $type: 'com.atproto.label.defs#selfLabels', values: selfLabels.map((val) => ({ val })) },
      }),
      ...(reply && { reply }),
    };
    const rules = reply ? undefined : GATES[replyGate];
    const written = await writePost(call, fields, async ({ rkey, createdAt }) => {
      if (!rules) return;
      const allow = rules.map((rule) => ({ $type: `${GATE}#${rule}` }));
      const record = { $type: GATE, post: `at://${account}/${POST}/${rkey}`, createdAt, allow };
      await http.post('/com.atproto.repo.putRecord', Reference, {
        json: { repo: account, collection: GATE, rkey, record },
      });
    });
    return publishedAs(account, written, reply?.root);
  },
  async find({ saved, thread, ...call }) {
    const found = await findRecord(call, POST, saved);
    return found && publishedAs(call.account, found, (await replyTo(call.http, thread))?.root);
  },
  async remove({ http, account, published }) {
    await http.post('/com.atproto.repo.deleteRecord', z.unknown(), {
      json: { repo: account, collection: POST, rkey: published.id.split('/').at(-1) },
    });
  },
  comment: {
    once: 'own-id',
    replies: true,
    async send({ published, parent, ...call }) {
      const reply = await answerTo(call.http, parent ?? published);
      return publishedAs(call.account, await writePost(call, { reply }), reply.root);
    },
    async find({ published, parent, saved, ...call }) {
      const found = await findRecord(call, POST, saved);
      return found && publishedAs(call.account, found, (await answerTo(call.http, parent ?? published)).root);
    },
  },
  repost: {
    once: 'own-id',
    async send({ repost: { id, published }, ...call }) {
      const { uri, cid } = await known(call.http, published);
      const written = await writeKeyed(call, id, ({ rkey, createdAt }) =>
        writeRecord(call, { collection: REPOST, rkey, record: { subject: { uri, cid }, createdAt } }),
      );
      return { id: written.uri, url: published.url };
    },
    async find({ repost: { published }, saved, ...call }) {
      const found = await findRecord(call, REPOST, saved);
      return found && { id: found.uri, url: published.url };
    },
  },
} satisfies Operations<typeof Settings, typeof credentials>;
