import { z } from 'zod';
import { trimmedLine, webAddress } from '../kit/declare/setting-texts.ts';
import type { Handle, Media, Post } from './_contract.ts';
import { publicUrlOf } from './_limits.ts';

// What networks for articles have in common: settings that name a title, a cover and tags, files inside the text, and
// files and drafts that are there before an article is public.

const Address = webAddress();
/** The title of an article, without blanks around it. */
export const Title = (most: number, least = 1) => trimmedLine(most, least);
export const Subtitle = trimmedLine(250, 0).optional();
/** A file chosen in a setting: its public address, or the file as the library shows it; empty where none is chosen. */
export const FileSetting = z
  .union([z.literal(''), Address, z.object({ path: Address }).transform(({ path }) => path)])
  .optional();
/** The address at which an article was published first. */
export const Canonical = z.union([z.literal(''), Address]).optional();
/** The id of a publication at the network. */
export const PublicationId = z.string().regex(/^[\w-]{1,64}$/);
/** Tags as texts, or as the form sends them; `words` say what each has to be. */
export const TagList = (tag: z.ZodString, words: string) =>
  z.array(z.union([tag, z.object({ value: tag }).transform(({ value }) => value)], words));

/** The text in markdown with its pictures below it: at the addresses that the network gave them, else at ours. */
export const withPictures = (
  { text, media }: Pick<Post, 'text' | 'media'>,
  urls: readonly string[] = media.map(publicUrlOf),
): string =>
  [text, ...media.map(({ alt }, n) => `![${escaped(alt)}](${urls[n]})`)].filter((part) => part !== '').join('\n\n');
/** A text of one line as markdown that shows it as it is. */
export const escaped = (text: string): string => text.replace(/\s+/g, ' ').replace(/[\\`*_[\]<>|~&#]/g, '\\$&');

const Uploaded = z.object({ url: z.string(), id: z.number().optional() });
type Uploaded = z.output<typeof Uploaded>;
const Made = z.object({ files: z.array(Uploaded), draft: z.string().optional() }).catch({ files: [] });
/** What is at the network before an article is public: its pictures in their order, then its cover; its draft. */
export type Made = z.output<typeof Made>;
export const madeOf = (saved: unknown): Made => Made.parse(saved);
export const urlsOf = ({ files }: Made): string[] => files.map(({ url }) => url);

/** Uploads the next file of an article; answers what is there when nothing is left to upload. */
export async function uploadNext(
  { post, saved, save }: Pick<Handle, 'saved' | 'save'> & { post: Post },
  upload: (file: Media) => Promise<Uploaded>,
): Promise<Made | undefined> {
  const made = madeOf(saved);
  const file = [...post.media, ...Object.values(post.files ?? {})][made.files.length];
  if (!file) return made;
  await save({ ...made, files: [...made.files, await upload(file)] });
  return undefined;
}
