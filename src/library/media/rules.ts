import { type FieldError, fieldError, validationFailed } from '../../platform/kernel/index.ts';
import type { MediaKind, Part } from '../../providers/registry/index.ts';

export interface Format {
  kind: MediaKind;
  mime: string;
  extension: string;
}

const format = (kind: MediaKind, mime: string, extension: string): Format => ({ kind, mime, extension });
const HEIC = format('image', 'image/heic', 'heic');
const OGG = format('audio', 'audio/ogg', 'ogg');

/**
 * What is accepted (S147): the type that the content shows → how it is kept and served. Whatever is not here is
 * refused.
 */
export const ACCEPTED: ReadonlyMap<string, Format> = new Map([
  ['image/jpeg', format('image', 'image/jpeg', 'jpg')],
  ['image/png', format('image', 'image/png', 'png')],
  ['image/apng', format('image', 'image/png', 'png')],
  ['image/gif', format('image', 'image/gif', 'gif')],
  ['image/webp', format('image', 'image/webp', 'webp')],
  ['image/avif', format('image', 'image/avif', 'avif')],
  ['image/bmp', format('image', 'image/bmp', 'bmp')],
  ['image/tiff', format('image', 'image/tiff', 'tiff')],
  ['image/heic', HEIC],
  ['image/heif', HEIC],
  ['video/mp4', format('video', 'video/mp4', 'mp4')],
  ['video/x-m4v', format('video', 'video/x-m4v', 'm4v')],
  ['video/quicktime', format('video', 'video/quicktime', 'mov')],
  ['video/webm', format('video', 'video/webm', 'webm')],
  ['audio/mpeg', format('audio', 'audio/mpeg', 'mp3')],
  ['audio/wav', format('audio', 'audio/wav', 'wav')],
  ['audio/x-m4a', format('audio', 'audio/mp4', 'm4a')],
  ['audio/mp4', format('audio', 'audio/mp4', 'm4a')],
  ['audio/ogg', OGG],
  ['audio/ogg; codecs=opus', OGG],
  ['application/ogg', OGG],
  ['application/pdf', format('document', 'application/pdf', 'pdf')],
]);

const BY_EXTENSION = new Map([...ACCEPTED.values()].map((one) => [one.extension, one]));
/** Other endings of names that are the same kind. */
const SAME_EXTENSION: Readonly<Record<string, string>> = { jpeg: 'jpg', tif: 'tiff', heif: 'heic' };

/** What is written here and taken from nobody. */
export const SUBTITLES = {
  srt: format('document', 'application/x-subrip', 'srt'),
  vtt: format('document', 'text/vtt', 'vtt'),
} as const;
const KEPT: ReadonlyMap<string, Format> = new Map<string, Format>([...BY_EXTENSION, ...Object.entries(SUBTITLES)]);

/**
 * What a client says that it will send: by its type, else by the name. Undefined: nothing that is accepted. Only a
 * promise, for the content decides.
 */
export function announced(type: string | undefined, name: string): Format | undefined {
  const extension = name.split('.').at(-1)!.toLowerCase();
  return (
    ACCEPTED.get((type ?? '').split(';')[0]!.trim().toLowerCase()) ??
    BY_EXTENSION.get(Object.hasOwn(SAME_EXTENSION, extension) ? SAME_EXTENSION[extension]! : extension)
  );
}

/** Formats that sharp reads here: size and thumbnail are made of these, and a broken one is refused. */
export const READABLE: ReadonlySet<string> = new Set([
  'image/jpeg',
  'image/png',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/tiff',
]);

// <organization>/<32 characters of base62>.<extension>: nothing that could leave the folder can be spelled with it.
const KEY = /^[0-9a-f-]{36}\/[0-9A-Za-z]{32}\.([a-z0-9]{2,4})$/;

/** The format of a stored object by its key; undefined: not the name of a stored object. */
export function formatOfKey(key: string): Format | undefined {
  const extension = KEY.exec(key)?.[1];
  return extension === undefined ? undefined : KEPT.get(extension);
}

/** What the addresses of stored files begin with. */
export const ownAddresses = (backendUrl: string): readonly string[] => [
  `${backendUrl}/uploads/`,
  `${backendUrl}/api/uploads/`,
  '/uploads/',
];

/** The key of a URL below our own `/uploads`; undefined: an address outside. */
export function keyOfUrl(backendUrl: string, url: string): string | undefined {
  for (const prefix of ownAddresses(backendUrl))
    if (url.startsWith(prefix)) return url.slice(prefix.length).split(/[?#]/, 1)[0];
  return undefined;
}

export const urlOfKey = (backendUrl: string, key: string): string => `${backendUrl}/uploads/${key}`;

/** The address of a stored file at which its bytes are answered by this service, wherever they lie. */
export const bytesUrlOfKey = (backendUrl: string, key: string): string => `${urlOfKey(backendUrl, key)}?redirect=no`;

/** Whether media may be hosted there (S125): the host is one of the domains or lies below one. No domains: anywhere. */
export function domainAllowed(domains: readonly string[], url: string): boolean {
  if (domains.length === 0) return true;
  const host = URL.canParse(url) ? new URL(url).hostname.toLowerCase().replace(/\.$/, '') : '';
  return domains.some((domain) => host === domain.toLowerCase() || host.endsWith(`.${domain.toLowerCase()}`));
}

/** Control characters, line ends, and what turns the direction of text. */
// oxlint-disable-next-line no-control-regex -- they are removed
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
/** A name as one line that reads as it is spelled: without control characters and spaces around it. */
export const plainLine = (text: string): string => text.normalize('NFC').replace(CONTROL, '').trim();

/**
 * A client's file name as it is shown: the last part of a path, trimmed, at most 255 characters. Never used for a path
 * of ours.
 */
export function shownName(name: string | undefined, fallback: string): string {
  const last = plainLine(
    plainLine(name ?? '')
      .split(/[/\\]/)
      .at(-1)!,
  )
    .slice(0, 255)
    .replace(/[\ud800-\udbff]$/, ''); // the half of a sign that was cut through
  return last.isWellFormed() && last !== '' && last !== '.' && last !== '..' ? last : fallback;
}

/** A part as a client names it (S149). */
export interface NamedPart {
  PartNumber: number;
  ETag: string;
}
const bare = (etag: string) =>
  etag
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .toLowerCase();

/**
 * The parts that make up the whole, by number: each has arrived as it is named, and together they have the size that
 * was announced.
 */
export function partsOfWhole(named: readonly NamedPart[], arrived: readonly Part[], bytes: number): Part[] {
  const errors: FieldError[] = [];
  const byNumber = new Map(arrived.map((part) => [part.number, part]));
  const found = new Map<number, Part>();
  for (const [n, { PartNumber, ETag }] of named.entries()) {
    const at = `parts.${n}`;
    const part = byNumber.get(PartNumber);
    if (found.has(PartNumber)) errors.push(fieldError(`${at}.PartNumber`, 'named twice', 'repeated'));
    else if (!part) errors.push(fieldError(`${at}.PartNumber`, 'this part has not arrived', 'missing'));
    else if (bare(part.etag) !== bare(ETag))
      errors.push(fieldError(`${at}.ETag`, 'another part has arrived since', 'mismatch'));
    else found.set(PartNumber, part);
  }
  const whole = [...found.values()].toSorted((a, b) => a.number - b.number);
  const size = whole.reduce((sum, part) => sum + part.bytes, 0);
  if (errors.length === 0 && size !== bytes)
    errors.push(fieldError('parts', `together they have ${size} bytes, and ${bytes} were announced`, 'size'));
  if (errors.length > 0) throw validationFailed(errors);
  return whole;
}
