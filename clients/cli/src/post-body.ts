import type { Rookery } from '../../typescript/src/index.ts';
import { UsageError } from './exit.ts';
import { isAddress, keyOfUpload, requireFiles, uploadFile } from './files.ts';
import { readText } from './input.ts';
import type { Session } from './session.ts';

export type CreateBody = Parameters<Rookery['createPosts']>[0];

export interface PostOptions {
  channel?: string[];
  text?: string;
  thread?: string[];
  media?: string[];
  date?: string;
  draft?: boolean;
  settings?: Record<string, unknown>;
  tag?: string[];
  idempotencyKey?: string;
}

/** A dry run stores nothing, so it uploads nothing. */
export function requireNoFiles({ media = [] }: PostOptions): void {
  const file = media.find((one) => !isAddress(one));
  if (file !== undefined)
    throw new UsageError(
      `A dry run uploads nothing: upload ${file} before, and give --media the address of the answer`,
    );
}

/** What a post cannot be without. */
export function requireContent({ channel = [], text, media = [] }: PostOptions): { channel: string[]; text?: string } {
  if (channel.length === 0) throw new UsageError('Say where to publish by --channel');
  if (text === undefined && media.length === 0) throw new UsageError('Say what to publish by --text or --media');
  return { channel, ...(text !== undefined && { text }) };
}
export const typeOf = ({ draft, date }: PostOptions) =>
  draft ? ('draft' as const) : date === undefined ? ('now' as const) : ('schedule' as const);

/** Addresses as they are, files after their upload. */
export async function imagesOf(
  session: Session,
  rookery: Rookery,
  { media = [], idempotencyKey: key }: Pick<PostOptions, 'media' | 'idempotencyKey'>,
): Promise<{ id?: string; path: string }[]> {
  await requireFiles(media);
  const images: { id?: string; path: string }[] = [];
  for (const [position, one] of media.entries()) {
    if (isAddress(one)) images.push({ path: one });
    else {
      const { id, path } = await uploadFile(rookery, one, session.signal, {
        ...(key !== undefined && { idempotencyKey: keyOfUpload(key, position) }),
      });
      images.push({ id, path });
    }
  }
  return images;
}

/** The body that the options describe. */
export async function bodyOf(session: Session, rookery: Rookery, options: PostOptions): Promise<CreateBody> {
  const { channel, text = '' } = requireContent(options);
  const { thread = [], date, settings = {}, tag = [] } = options;
  const content = text === '-' ? await readText(session, '-') : text;
  const image = await imagesOf(session, rookery, options);
  const value = [{ content, image }, ...thread.map((item) => ({ content: item, image: [] }))];
  return {
    type: typeOf(options),
    ...(date !== undefined && { date }), // the body is the same when it is typed again
    creationMethod: 'CLI',
    shortLink: false,
    tags: tag.map((one) => ({ value: one, label: one })),
    posts: channel.map((id) => ({ integration: { id }, value, settings })),
  };
}
