import type { PostWithThread, Schemas } from '../../../typescript/src/index.ts';
import type { Column } from '../output.ts';

type ListedPost = Schemas['PublicPost'];

/** A post's HTML as one line of text. */
const textOf = (html: string): string =>
  html
    .replaceAll(/<\/(?:p|h\d|li)>|<br\s*\/?>/g, ' ')
    .replaceAll(/<[^<>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&nbsp;', ' ')
    .replaceAll('&amp;', '&')
    .trim();
const shortened = (text: string) => (text.length > 60 ? `${text.slice(0, 59)}…` : text);
const stateOf = ({ state, detail }: Pick<ListedPost, 'state' | 'detail'>) => (detail ? `${state} ${detail}` : state);

export const listedPost: readonly Column<ListedPost>[] = [
  ['ID', ({ id }) => id],
  ['DATE', ({ publishDate }) => publishDate],
  ['STATE', stateOf],
  ['CHANNEL', ({ integration }) => integration.name],
  ['TEXT', ({ content }) => shortened(textOf(content))],
];
export const wholePost: readonly Column<PostWithThread>[] = [
  ['id', ({ id }) => id],
  ['state', stateOf],
  ['date', ({ publishDate }) => publishDate],
  ['channel', ({ integration }) => `${integration.name} (${integration.providerIdentifier})`],
  ['text', ({ content }) => textOf(content)],
  ['thread', ({ thread }) => thread.length],
  ['address', ({ releaseURL }) => releaseURL],
  ['error', ({ error, errorKind }) => error ?? errorKind],
];
