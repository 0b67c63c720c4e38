import { z } from 'zod';
import type { Clock } from '../kit/declare/adapter.ts';
import type { Http } from '../kit/wire/http.ts';
import { cardEmbed, savedCard } from './_bluesky-card.ts';
import { POST, type Reference, writeKeyed, writeRecord } from './_bluesky-records.ts';
import { facetsOf } from './_bluesky-text.ts';
import { savedVideo, uploadBlob } from './_bluesky-video.ts';
import type { Handle, Media, Post } from './_contract.ts';
import { fitted } from './_files.ts';

export const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/webp', 'image/gif'];
export const IMAGE_BYTES = 2_000_000;
/** More pictures are a gallery. */
const MOST_IMAGES = 4;

const Resolved = z.object({ did: z.string() });
const NoSuchHandle = z.object({ error: z.enum(['InvalidRequest', 'HandleNotFound']) });

export type Writing = Pick<Handle, 'saved' | 'save'> & { http: Http; clock: Clock; account: string; post: Post };

/** The two ends of the thread that a post belongs to. */
export interface Reply {
  root: Reference;
  parent: Reference;
}

/**
 * Writes a post or an answer once: its key is saved before. `before` is done between, so that nobody can reply to a
 * post whose replies are limited.
 */
export async function writePost(
  line: Writing,
  fields: Readonly<Record<string, unknown>>,
  before?: (key: { rkey: string; createdAt: string }) => Promise<unknown>,
): Promise<Reference> {
  const { http, post, saved } = line;
  const facets = await facetsOf(post.text, (handle) => resolve(http, handle));
  const embed = await embedOf(line);
  const write = async ({ rkey, createdAt }: { rkey: string; createdAt: string }) => {
    await before?.({ rkey, createdAt });
    const record = {
      text: post.text,
      createdAt,
      ...(facets.length > 0 && { facets }),
      ...fields,
      ...(embed && { embed }),
    };
    return writeRecord(line, { collection: POST, rkey, record });
  };
  return writeKeyed(line, post.id, write, { ...savedVideo(saved), ...savedCard(saved) });
}

async function resolve(http: Http, handle: string): Promise<string | undefined> {
  const query = { handle };
  return (await http.find('/com.atproto.identity.resolveHandle', Resolved, { query, absent: NoSuchHandle }))?.did;
}

async function embedOf(line: Writing) {
  const { media } = line.post;
  const [first] = media;
  if (!first) return cardEmbed(line.saved);
  if (first.kind === 'video')
    return {
      $type: 'app.bsky.embed.video',
      video: savedVideo(line.saved).video ?? (await uploadBlob(line, first)),
      ...(first.alt !== '' && { alt: first.alt }),
      ...(first.width && first.height && { aspectRatio: { width: first.width, height: first.height } }),
    };
  const images: Readonly<Record<string, unknown>>[] = [];
  for (const item of media) images.push(await uploadPicture(line.http, item));
  return images.length > MOST_IMAGES
    ? {
        $type: 'app.bsky.embed.gallery',
        items: images.map((image) => ({ $type: 'app.bsky.embed.gallery#image', ...image })),
      }
    : { $type: 'app.bsky.embed.images', images };
}

async function uploadPicture(http: Http, item: Media) {
  const picture = await fitted(item, { maxBytes: IMAGE_BYTES, types: IMAGE_TYPES });
  const { width, height } = picture;
  return { alt: item.alt, image: await uploadBlob({ http }, picture), aspectRatio: { width, height } };
}
