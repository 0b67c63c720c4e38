import { byteLength, countGraphemes, findInText } from '../kit/protocols/text.ts';

export interface Facet {
  index: { byteStart: number; byteEnd: number };
  features: [Record<string, string>];
}

/**
 * Writes rich text of the AT Protocol, with positions in UTF-8 bytes. A mention whose handle does not resolve stays
 * plain text.
 */
export async function facetsOf(
  text: string,
  resolve: (handle: string) => Promise<string | undefined>,
): Promise<Facet[]> {
  const facets: Facet[] = [];
  for (const { kind, value, start, end } of findInText(text)) {
    const feature = await featureOf(kind, value, resolve);
    if (!feature) continue;
    const byteStart = byteLength(text.slice(0, start));
    facets.push({ index: { byteStart, byteEnd: byteStart + byteLength(text.slice(start, end)) }, features: [feature] });
  }
  return facets;
}

/** Of `app.bsky.richtext.facet#tag`. */
const TAG_GRAPHEMES = 64;
const TAG_BYTES = 640;
const isTag = (value: string): boolean =>
  byteLength(value) <= TAG_BYTES && countGraphemes(value, TAG_GRAPHEMES + 1) <= TAG_GRAPHEMES;

async function featureOf(
  kind: 'link' | 'mention' | 'tag',
  value: string,
  resolve: (handle: string) => Promise<string | undefined>,
): Promise<Record<string, string> | undefined> {
  switch (kind) {
    case 'link':
      return { $type: 'app.bsky.richtext.facet#link', uri: value };
    case 'tag':
      return isTag(value) ? { $type: 'app.bsky.richtext.facet#tag', tag: value } : undefined;
    case 'mention': {
      const did = /^[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(value) ? await resolve(value.toLowerCase()) : undefined;
      return did === undefined ? undefined : { $type: 'app.bsky.richtext.facet#mention', did };
    }
  }
}
