import type { Rookery } from '../../typescript/src/index.ts';
import { UsageError } from './exit.ts';
import { uploadFile } from './files.ts';
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
}

const isAddress = (media: string) => /^https?:\/\//.test(media);

/** A dry run stores nothing, so it uploads nothing. */
export function requireNoFiles({ media = [] }: PostOptions): void {
  const file = media.find((one) => !isAddress(one));
  if (file !== undefined)
    throw new UsageError(
      `A dry run uploads nothing: upload ${file} before, and give --media the address of the answer`,
    );
}

/** The body that the options describe. Files are uploaded on the way. */
export async function bodyOf(session: Session, rookery: Rookery, options: PostOptions): Promise<CreateBody> {
  const { channel = [], text, thread = [], media = [], date, draft, settings = {}, tag = [] } = options;
  if (channel.length === 0) throw new UsageError('Say where to publish by --channel, or give a body by --file');
  if (text === undefined && media.length === 0) throw new UsageError('Say what to publish by --text or --media');
  const content = text === '-' ? await readText(session, '-') : (text ?? '');
  const image: { id?: string; path: string }[] = [];
  for (const one of media) {
    if (isAddress(one)) image.push({ path: one });
    else {
      const { id, path } = await uploadFile(rookery, one, session.signal);
      image.push({ id, path });
    }
  }
  const value = [{ content, image }, ...thread.map((item) => ({ content: item, image: [] }))];
  return {
    type: draft ? 'draft' : date === undefined ? 'now' : 'schedule',
    date: date ?? new Date().toISOString(),
    creationMethod: 'CLI',
    shortLink: false,
    tags: tag.map((one) => ({ value: one, label: one })),
    posts: channel.map((id) => ({ integration: { id }, value, settings })),
  };
}
