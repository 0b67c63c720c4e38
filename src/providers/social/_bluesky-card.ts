import { z } from 'zod';
import { decodePage, isHtml, readPageCard } from '../../platform/content/index.ts';
import { whenFailed } from '../kit/declare/fallback.ts';
import { findLinks } from '../kit/protocols/text.ts';
import type { WebAnswer } from '../kit/wire/web-pages.ts';
import { uploadBlob } from './_bluesky-video.ts';
import type { Connection, Post, Saving } from './_contract.ts';

// The card of the first link of a post without files (app.bsky.embed.external).

const PAGE = {
  accept: 'text/html,application/xhtml+xml;q=0.9',
  timeoutMs: 4_000,
  maxBytes: 524_288,
  cut: true,
} as const;
const PICTURE_TYPES = ['image/jpeg', 'image/png', 'image/webp', 'image/gif'];
/** Of `thumb` in the lexicon. */
const PICTURE = { accept: PICTURE_TYPES.join(','), timeoutMs: 4_000, maxBytes: 1_000_000 };

const Card = z.record(z.string(), z.unknown());
/** `card`: what the page of the link told; null where it told nothing. */
const Saved = z.looseObject({ card: Card.nullish().catch(undefined), createdAt: z.string().optional() }).catch({});
/** What is kept of the card from one attempt to the next: the record stays the same. */
export const savedCard = (saved: unknown): { card?: z.output<typeof Card> | null } => {
  const { card } = Saved.parse(saved);
  return card === undefined ? {} : { card };
};
export const cardEmbed = (saved: unknown) => {
  const { card } = savedCard(saved);
  return card ? { $type: 'app.bsky.embed.external', external: card } : undefined;
};

type Preparing = Pick<Connection, 'http' | 'pages'> & Saving & { post: Post };

/**
 * Reads the page of the first link, once for all attempts. A page that cannot be read, or has no title, makes no card:
 * the link stays in the text.
 */
export async function prepareCard({ http, pages, post, saved, save }: Preparing): Promise<void> {
  const state = Saved.parse(saved);
  // a record that may be there already stays as it was sent
  if (post.media.length > 0 || state.card !== undefined || state.createdAt !== undefined) return;
  const [link] = findLinks(post.text);
  if (link) await save({ ...state, card: (await cardOf({ http, pages }, link.value)) ?? null });
}

async function cardOf({ http, pages }: Pick<Preparing, 'http' | 'pages'>, uri: string) {
  const page = await pages(uri, PAGE);
  if (!page || !isHtml(page.contentType)) return undefined;
  const { title, description, picture } = readPageCard(decodePage(page.bytes, page.contentType));
  if (title === '') return undefined;
  const address = picture === undefined ? undefined : URL.parse(picture, page.url);
  const file = address && /^https?:$/.test(address.protocol) ? await pages(address.href, PICTURE) : undefined;
  const thumb = file && (await uploadPicture(http, file));
  return { uri, title, description, ...(thumb && { thumb }) };
}

/** Undefined for what is no picture, or none for the server. */
async function uploadPicture(http: Preparing['http'], { contentType, bytes }: WebAnswer) {
  const type = contentType.split(';')[0]!.trim().toLowerCase();
  if (!PICTURE_TYPES.includes(type) || bytes.length === 0) return undefined;
  const body = {
    contentType: type,
    size: bytes.length,
    async *open() {
      yield bytes;
    },
  };
  const blob = await whenFailed(
    'rejected',
    () => uploadBlob({ http }, body),
    async () => undefined,
  );
  return blob && String(blob['mimeType']).startsWith('image/') ? blob : undefined; // the server looks into the bytes
}
