import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Call, Http } from '../kit/wire/http.ts';
import type { Connection, Post, Published } from './_contract.ts';
import { sentFile } from './_files.ts';

export const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
export const FILE_BYTES = 10_485_760;
/** Bytes of a file, by the tier of a boosted server. */
const BOOSTED: Readonly<Record<number, number>> = { 2: 52_428_800, 3: 104_857_600 };
const FORUM = 15;
const NAME_CHARACTERS = 100;
const ALT_CHARACTERS = 1_024;
/** Messages that are read to find a post: 1,000. */
const PAGE = 100;
const PAGES = 10;
/** Of 2015-01-01, from which ids count. */
const EPOCH_MS = 1_420_070_400_000;

const Named = z.object({ id: z.string() });
const Person = Named.extend({
  username: z.string(),
  global_name: z.string().nullish(),
  avatar: z.string().nullish(),
});
export const Message = Named.extend({
  type: z.int().optional(),
  content: z.string(),
  timestamp: z.coerce.date(),
  flags: z.int().optional(),
  attachments: z.array(z.unknown()).default([]),
  author: Person,
  mentions: z.array(Person).default([]),
  message_reference: z.object({ message_id: z.string().nullish() }).nullish(),
  reactions: z.array(z.object({ count: z.int() })).nullish(),
  thread: z.object({ message_count: z.int() }).nullish(),
});
export const Messages = z.array(Message);
const Boosted = Named.extend({ premium_tier: z.int().default(0) });
const Channel = Named.extend({ type: z.int(), guild_id: z.string().optional() });
const Threads = z.object({
  threads: z.array(Named.extend({ name: z.string(), parent_id: z.string().nullish() })),
});

/** An id of ours is that of the channel and that of the message: a message is known in its channel only. */
export const MESSAGE = /^(\d{1,20})\/(\d{1,20})$/;
export function partsOf(id: string) {
  const [, channel, message] = MESSAGE.exec(id) ?? [];
  if (channel === undefined || message === undefined) throw refused('rejected', `Discord has no message ${id}`);
  return { channel, message, path: `/channels/${channel}/messages/${message}` };
}
export const messageAt = (guild: string, channel: string, message: string): Published => ({
  id: `${channel}/${message}`,
  url: `https://discord.com/channels/${guild}/${channel}/${message}`,
});
/** The least id of a message from that time on. */
const idSince = (since: Date): bigint => BigInt(since.getTime() - EPOCH_MS) << 22n;
/** A uuid in 22 characters: Discord takes 25. */
const nonceOf = ({ id }: Post): string => Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url');
/** Discord shows no preview of a link in angle brackets. */
const contentOf = ({ text }: Post): string => text.replace(/<(https?:\/\/[^<>\s]+)>/g, '$1').trim();
/** Without blanks at its ends: a look-up compares it with the name that Discord shows. */
const nameOf = ({ plain }: Post): string =>
  Array.from(plain.trim().split('\n')[0]!).slice(0, NAME_CHARACTERS).join('').trim() || 'Post';

type Line = Pick<Connection, 'http' | 'account'>;

/** What a server takes of one file. */
export const fileBytesOf = async ({ http, account }: Line): Promise<number> =>
  BOOSTED[(await http.get(`/guilds/${account}`, Boosted)).premium_tier] ?? FILE_BYTES;

/** A message as JSON, or as a form with its files; `whole` puts it into the body of the call. */
async function bodyOf(line: Line, { media, ...post }: Post, whole: (message: object) => object): Promise<Call> {
  const files = [];
  const isLarge = media.some(({ kind, size }) => kind === 'image' && size > FILE_BYTES);
  const maxBytes = isLarge ? await fileBytesOf(line) : FILE_BYTES; // pictures are scaled to it
  for (const item of media) files.push(await sentFile(item, { maxBytes, types: IMAGE_TYPES }));
  const json = whole({
    content: contentOf({ media, ...post }),
    allowed_mentions: { parse: ['users', 'roles'] },
    ...(files.length > 0 && {
      attachments: files.map(({ name: filename }, n) => {
        const description = media[n]!.alt.slice(0, ALT_CHARACTERS);
        return { id: String(n), filename, ...(description && { description }) };
      }),
    }),
  });
  if (files.length === 0) return { json, creates: true };
  const parts = files.map((file, n) => [`files[${n}]`, file] as const);
  return { multipart: { payload_json: JSON.stringify(json), ...Object.fromEntries(parts) }, creates: true };
}

/** Sends a message; a repeat within some minutes answers the first one. Answers its id. */
export async function sendMessage(line: Line, channel: string, post: Post, answered?: string): Promise<string> {
  const body = await bodyOf(line, post, (message) => ({
    ...message,
    ...(answered !== undefined && { message_reference: { message_id: answered, fail_if_not_exists: false } }),
    nonce: nonceOf(post),
    enforce_nonce: true,
  }));
  return (await line.http.post(`/channels/${channel}/messages`, Named, body)).id;
}

/** Opens a post of a forum; its first message has the id of the post. */
export async function openForumPost(line: Line, channel: string, post: Post): Promise<string> {
  const body = await bodyOf(line, post, (message) => ({ name: nameOf(post), message }));
  return (await line.http.post(`/channels/${channel}/threads`, Named, body)).id;
}

/** The thread below a message, opened where there is none; it has the id of the message. */
export async function threadBelow(line: Line, published: Published, post: Post): Promise<string> {
  const { channel, message, path } = await ownMessage(line, published);
  const isOpen = z.object({ code: z.literal(160_004) });
  if (channel !== message)
    await line.http.find(`${path}/threads`, Named, { json: { name: nameOf(post) }, absent: isOpen });
  return message;
}

/** A channel of the server `account`: one app serves many servers, and goes to channels of the connected one only. */
export async function chosenChannel({ http, account }: Line, id: string): Promise<{ isForum: boolean }> {
  const { guild_id: guild, type } = await http.get(`/channels/${id}`, Channel);
  if (guild !== account) throw refused('rejected', 'The channel belongs to another server');
  return { isForum: type === FORUM };
}

/**
 * A published message of the server `account`. It has the address that we gave it there, or a person named its id: then
 * its channel is asked, before anything is read or written in it.
 */
export async function ownMessage({ http, account }: Line, { id, url }: Published) {
  const parts = partsOf(id);
  if (url !== messageAt(account, parts.channel, parts.message).url)
    await chosenChannel({ http, account }, parts.channel);
  return parts;
}

/** Yields the messages of a channel since then, the oldest pages first. Throws when there are too many. */
async function* messagesSince(http: Http, channel: string, since: Date) {
  let last = idSince(since);
  for (let page = 0; page < PAGES; page += 1) {
    const query = { after: String(last), limit: String(PAGE) };
    const messages = (await http.find(`/channels/${channel}/messages`, Messages, { query })) ?? [];
    yield* messages;
    if (messages.length < PAGE) return;
    for (const { id } of messages) if (BigInt(id) > last) last = BigInt(id);
  }
  throw refused('unavailable', `The channel has more than ${PAGE * PAGES} messages since then`);
}

const isSimilar = ({ content, attachments }: z.output<typeof Message>, post: Post): boolean =>
  content === contentOf(post) && attachments.length === post.media.length;

/** Ids of messages of a channel since then that look like the post, whoever wrote them. */
export async function similarIn(http: Http, channel: string, post: Post, since: Date): Promise<string[]> {
  const found: string[] = [];
  for await (const message of messagesSince(http, channel, since)) if (isSimilar(message, post)) found.push(message.id);
  return found;
}

/** Ids of posts of a forum since then that look like the post. */
export async function similarInForum(
  { http, account }: Line,
  forum: string,
  post: Post,
  since: Date,
): Promise<string[]> {
  const { threads } = await http.get(`/guilds/${account}/threads/active`, Threads);
  const own = threads.filter(
    ({ id, name, parent_id }) => parent_id === forum && name === nameOf(post) && BigInt(id) >= idSince(since),
  );
  const first = await Promise.all(own.map(({ id }) => http.find(partsOf(`${id}/${id}`).path, Message)));
  return own.map(({ id }) => id).filter((_, n) => first[n] && isSimilar(first[n], post));
}
