import { z } from 'zod';
import { refused, whenFailed } from '../kit/declare/fallback.ts';
import type { NamedBody } from '../kit/declare/media.ts';
import type { Http } from '../kit/wire/http.ts';
import type { App, ChannelPost, Connection, Media, Post, Published } from './_contract.ts';
import { fittedCover, sentFile } from './_files.ts';

const PICTURE_BYTES = 10_000_000;
/** Of width and height of a picture together, in pixels. */
const PICTURE_SIDES = 10_000;
/** So many pixels have sides of at most `PICTURE_SIDES` together in each ratio that is taken: 20 at most. */
const COVER_PIXELS = Math.floor((PICTURE_SIDES / (Math.sqrt(20) + Math.sqrt(1 / 20))) ** 2);
/** Animations are sent alone; in an album a GIF is a picture. */
const PICTURE_TYPES = ['image/jpeg', 'image/png', 'image/webp'];
const KINDS = { image: 'photo', video: 'video', audio: 'audio', document: 'document' } as const;
const METHODS = {
  photo: 'sendPhoto',
  video: 'sendVideo',
  audio: 'sendAudio',
  document: 'sendDocument',
  animation: 'sendAnimation',
} as const;

export const Chat = z.object({
  id: z.int(),
  type: z.string(),
  title: z.string().optional(),
  username: z.string().optional(),
});
const Sent = z.object({ message_id: z.int(), chat: Chat });
const Ids = z.object({ ids: z.array(z.int()).min(1) });
const Answer = z.object({ ok: z.literal(true), result: z.unknown() }).transform(({ result }) => result);

export type BotLine = { http: Http; app: App | undefined };
/** The path of a method, with the token of the bot: no failure shows a secret of the app. */
const pathOf = (app: App | undefined, method: string): string => {
  if (!app) throw refused('rejected', 'The bot of this chat is not known any more');
  return `/bot${app.clientSecret}/${method}`;
};
/** The refusal of a group that became a supergroup; nothing else in Telegram is `unsupported`. */
export const Migrated = z
  .object({ parameters: z.object({ migrate_to_chat_id: z.int() }) })
  .transform(() => 'unsupported' as const);
/** A supergroup has another id and numbers its messages anew: it is another account. No login brings the old back. */
const tellMigrated = <T>(call: () => Promise<T>): Promise<T> =>
  whenFailed('unsupported', call, async () => {
    throw refused(
      'rejected',
      'The group has become a supergroup, which has another id at Telegram: connect it as a new channel, and schedule the post there',
    );
  });
/** Asks the Bot API. */
export const ask = <S extends z.ZodType>({ http, app }: BotLine, method: string, reply: S, json: object) =>
  tellMigrated(() => http.post(pathOf(app, method), Answer.pipe(reply), { json }));
type Body = { json: object } | { multipart: Record<string, string | NamedBody> };
const make = <S extends z.ZodType>({ http, app }: BotLine, method: string, reply: S, body: Body) =>
  tellMigrated(() => http.post(pathOf(app, method), Answer.pipe(reply), { ...body, creates: true }));

/** An id of ours is that of the chat and that of the message; an album has several, which are kept beside it. */
export function partsOf({ id, saved }: { id: string; saved?: unknown }) {
  const [chat = '', message = ''] = id.split('/');
  return { chat_id: chat, message_ids: Ids.safeParse(saved).data?.ids ?? [Number(message)] };
}
/** One bot serves the chats of many: it writes in the connected one, and takes messages of an account from its own. */
function expectChat(chat_id: string, account: string): void {
  if (chat_id !== account) throw refused('rejected', 'The message is in a chat that is not connected');
}
/** Messages of private groups have no address. */
function published({ id, username }: z.output<typeof Chat>, [first = 0, ...more]: readonly number[]): Published {
  const hidden = /^-100(\d+)$/.exec(String(id))?.[1];
  const place = username ?? (hidden && `c/${hidden}`);
  return {
    id: `${id}/${first}`,
    url: place ? `https://t.me/${place}/${first}` : '',
    ...(more.length > 0 && { saved: { ids: [first, ...more] } }),
  };
}

/** A file with what Telegram is told about it. */
interface Part {
  type: keyof typeof METHODS;
  file: NamedBody;
  about?: Readonly<Record<string, string | number | boolean>>;
  cover?: NamedBody | undefined;
}
async function partOf(item: Media, n: number, { length }: readonly Media[]): Promise<Part> {
  const { kind, contentType, width, height, seconds } = item;
  const sides = width && height && { width, height };
  if (contentType === 'image/gif' && length === 1) return { type: 'animation', file: item };
  if (kind !== 'video') {
    const maxPixels =
      sides && Math.floor(sides.width * sides.height * (PICTURE_SIDES / (sides.width + sides.height)) ** 2);
    const rules = { maxBytes: PICTURE_BYTES, ...(maxPixels && { maxPixels }), types: PICTURE_TYPES };
    return { type: KINDS[kind], file: await sentFile(item, rules) };
  }
  // as a photo: its sides are not known before
  const cover = await fittedCover(item, { maxBytes: PICTURE_BYTES, maxPixels: COVER_PIXELS, types: PICTURE_TYPES });
  const about = {
    ...sides,
    ...(seconds && { duration: Math.round(seconds) }),
    supports_streaming: true,
    ...(cover && { cover: `attach://cover${n}` }),
  };
  return { type: 'video', file: item, about, cover };
}

/** Sends a message with its files, as an answer to another message where one is named. */
export async function send(line: Connection, chat_id: string, post: Post, answeredId?: number): Promise<Published> {
  expectChat(chat_id, line.account);
  const { text, media } = post;
  const reply = answeredId !== undefined && { message_id: answeredId };
  if (media.length === 0) {
    const json = { chat_id, text, parse_mode: 'HTML', ...(reply && { reply_parameters: reply }) };
    const sent = await make(line, 'sendMessage', Sent, { json });
    return published(sent.chat, [sent.message_id]);
  }
  const parts: Part[] = [];
  for (const [n, item] of media.entries()) parts.push(await partOf(item, n, media));
  const caption = text && { caption: text, parse_mode: 'HTML' };
  const common = {
    chat_id,
    ...(reply && { reply_parameters: JSON.stringify(reply) }),
    ...Object.fromEntries(parts.flatMap(({ cover }, n) => (cover ? [[`cover${n}`, cover]] : []))),
  };
  const [first, ...more] = parts;
  if (first && more.length === 0) {
    const { type, file, about = {} } = first;
    const told = Object.fromEntries(Object.entries(about).map(([name, value]) => [name, String(value)]));
    const multipart = { ...common, ...caption, ...told, [type]: file };
    const sent = await make(line, METHODS[type], Sent, { multipart });
    return published(sent.chat, [sent.message_id]);
  }
  const album = parts.map(({ type, about }, n) => {
    return { type, media: `attach://file${n}`, ...about, ...(n === 0 && caption) };
  });
  const files = Object.fromEntries(parts.map(({ file }, n) => [`file${n}`, file]));
  const multipart = { ...common, media: JSON.stringify(album), ...files };
  const sent = await make(line, 'sendMediaGroup', z.tuple([Sent]).rest(Sent), { multipart });
  return published(
    sent[0].chat,
    sent.map(({ message_id }) => message_id),
  );
}

/** Forwards messages of another chat into this one. */
export async function forward(line: BotLine, chat_id: string, of: ChannelPost): Promise<Published> {
  const { chat_id: from_chat_id, message_ids } = partsOf(of);
  expectChat(from_chat_id, of.account ?? chat_id);
  const chat = await ask(line, 'getChat', Chat, { chat_id });
  const json = { chat_id, from_chat_id, message_ids };
  const made = await make(line, 'forwardMessages', z.array(z.object({ message_id: z.int() })), { json });
  if (made.length === 0) throw refused('rejected', 'The message cannot be forwarded');
  return published(
    chat,
    made.map(({ message_id }) => message_id),
  );
}
