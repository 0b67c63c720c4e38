import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { uploadWhole } from '../kit/protocols/upload/parts.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Connection, Handle, Media, Post, Prepared, Published } from './_contract.ts';
import { uploadEach } from './_files.ts';

const Ok = z.object({ ok: z.literal(true) });
/** Also a refusal that says that there is nothing to do (`NOTHING`). */
export const Done = z.object({ ok: z.boolean() });
const Workspace = Ok.extend({ url: z.url() });
const Posted = Ok.extend({ ts: z.string() });
const Upload = Ok.extend({ upload_url: z.url(), file_id: z.string() });
export const Reactions = z.array(z.object({ count: z.int() })).default([]);
const Message = z.object({
  ts: z.string(),
  user: z.string().optional(),
  username: z.string().optional(),
  text: z.string().default(''),
  reactions: Reactions,
  metadata: z
    .object({ event_payload: z.object({ post_id: z.string() }) })
    .optional()
    .catch(undefined),
});
export const Messages = Done.extend({
  messages: z.array(Message).default([]),
  has_more: z.boolean().optional(),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional(),
});
const Shares = z.record(z.string(), z.array(z.object({ ts: z.string() }))).default({});
const FileInfo = Ok.extend({
  file: z.object({ shares: z.object({ public: Shares, private: Shares }).partial().optional() }),
});
/** `files`: the uploaded files of the post in order; nobody sees them before they are shared. */
const Saved = z.object({ files: z.array(z.string()) }).catch({ files: [] });

/** Messages that are read to find a post: 2,000. */
const PAGE = 200;
const PAGES = 10;

/** An id of ours is that of the channel and the time of the message, which is its id there. */
export const partsOf = (id: string) => {
  const [channel = '', ts = ''] = id.split('/');
  return { channel, ts };
};
export type At = (channel: string, ts: string) => Published;
/** Asks for the address of the workspace, so that nothing needs to be asked after a message is out. */
export async function addresses(http: Http): Promise<At> {
  const { url } = await http.get('/auth.test', Workspace);
  return (channel, ts) => ({ id: `${channel}/${ts}`, url: `${url}archives/${channel}/p${ts.replace('.', '')}` });
}

/** Joins a public channel; a private one needs an invitation. */
export const join = (http: Http, channel: string) => http.post('/conversations.join', Done, { json: { channel } });

/** Sends a text, below the message `thread_ts` where there is one. Answers the time of the message. */
export async function sendText(
  http: Http,
  channel: string,
  { id, text }: Pick<Post, 'id' | 'text'>,
  thread_ts?: string,
): Promise<string> {
  const json = {
    channel,
    text,
    thread_ts,
    metadata: { event_type: 'rookery_post', event_payload: { post_id: id } },
  };
  return (await http.post('/chat.postMessage', Posted, { json, creates: true })).ts;
}

/** Uploads the next file of the post. */
export const uploadNext = (
  line: Connection,
  { media, saved, save }: { media: readonly Media[] } & Pick<Handle, 'saved' | 'save'>,
): Promise<Prepared> =>
  uploadEach(
    media,
    Saved.parse(saved).files,
    async (file) => {
      const form = { filename: file.name, length: String(file.size), ...(file.alt && { alt_txt: file.alt }) };
      const { upload_url, file_id } = await line.http.post('/files.getUploadURLExternal', Upload, { form });
      await uploadWhole(line, { method: 'post', path: upload_url }, file, z.unknown());
      return file_id;
    },
    (files) => save({ files }),
  );

/** Shares the uploaded files with the text of the post. */
export async function shareFiles(
  http: Http,
  channel_id: string,
  post: Post,
  { saved, thread_ts }: { saved: unknown; thread_ts: string | undefined },
): Promise<void> {
  const files = Saved.parse(saved).files.map((id, n) => ({ id, title: post.media[n]!.name }));
  const json = { files, channel_id, ...(post.text && { initial_comment: post.text }), thread_ts };
  await http.post('/files.completeUploadExternal', Done, { json, creates: true });
}

/** The message that shows the uploaded files; undefined while Slack has not written it, or they were never shared. */
export async function sharedMessage(http: Http, saved: unknown): Promise<Published | undefined> {
  const [file] = Saved.parse(saved).files;
  if (file === undefined) return undefined;
  const { shares } = (await http.get('/files.info', FileInfo, { query: { file } })).file;
  const [shown] = Object.entries({ ...shares?.public, ...shares?.private });
  if (!shown?.[1][0]) return undefined;
  return (await addresses(http))(shown[0], shown[1][0].ts);
}

/** The message of this channel, or of a thread in it, that has the id of the post. Throws when there are too many. */
export async function ownMessage(
  http: Http,
  { channel, ts, post, since }: { channel: string; ts: string | undefined; post: Pick<Post, 'id'>; since: Date },
): Promise<Published | undefined> {
  const path = ts === undefined ? '/conversations.history' : '/conversations.replies';
  const oldest = String(since.getTime() / 1_000);
  let cursor: string | undefined;
  for (let page = 0; page < PAGES; page += 1) {
    const query = { channel, ts, oldest, limit: String(PAGE), include_all_metadata: 'true', cursor };
    const { messages, has_more: hasMore, response_metadata: more } = await http.get(path, Messages, { query });
    const own = messages.find(({ metadata }) => metadata?.event_payload.post_id === post.id);
    if (own) return (await addresses(http))(channel, own.ts);
    if (!hasMore) return undefined;
    cursor = more?.next_cursor;
    if (!cursor) break;
  }
  throw refused('unavailable', `There are more than ${PAGE * PAGES} messages since then`);
}
