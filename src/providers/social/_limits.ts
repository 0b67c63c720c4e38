import { countText, UNIT_WORDS } from '../kit/protocols/counted-text.ts';
import { findInText, type Found } from '../kit/protocols/text.ts';
import { refused } from '../kit/declare/fallback.ts';
import type { Picture } from '../kit/declare/media.ts';
import type { FileLimits, Limits, Media, MediaKind } from './_contract.ts';

/** What is known of a file of a post. */
export interface FileFacts {
  contentType: string;
  /** In bytes. */
  size: number;
  width?: number | undefined;
  height?: number | undefined;
  /** Of a video or sound. */
  seconds?: number | undefined;
  /** The picture that was chosen for a video. */
  thumbnail?: unknown;
  /** Nobody outside can fetch it; where that depends on a storage, it is known when the post is sent. */
  isHidden?: boolean;
}
/** A post, or an item of a thread. Files that lie outside are known when the post is sent: undefined. */
export interface Judged {
  text: string;
  /** The text without markup. Default: the text. */
  plain?: string;
  settings?: Settings;
  files: readonly (FileFacts | undefined)[];
}
/** A fault of a post: `field` is a path from the item, `rule` a word for programs. */
export interface Issue {
  field: string;
  message: string;
  rule: string;
}

type Settings = Readonly<Record<string, unknown>>;

/**
 * What a network would refuse of a post, before it is asked. Pictures are converted and scaled to what it takes, so
 * only their number and shape count; videos are sent as they are.
 */
export const checkPost = (limits: Limits, { text, plain = text, files, settings = {} }: Judged): Issue[] => [
  ...checkText(limits, text, files.length, settings),
  ...checkFinds(limits, plain),
  ...checkFiles(limits, files),
  ...(limits.needsMedia && files.length === 0 ? [fault('image', 'a picture or video is needed', 'required')] : []),
];

function* checkText(limits: Limits, text: string, files: number, settings: Settings): Generator<Issue> {
  const { unit, textLeast, textBytes, countedSettings = [] } = limits;
  const most = files > 0 ? Math.min(limits.text, limits.textWithFiles ?? Infinity) : limits.text;
  const where = most < limits.text ? 'the text beside files' : 'the text';
  if (text === '' && files === 0) yield fault('content', 'there is neither text nor media', 'required');
  if (text !== '' && textLeast !== undefined) {
    const own = countText(text, limits, textLeast);
    if (own < textLeast)
      yield fault('content', `the text is shorter than ${textLeast} ${UNIT_WORDS[unit]} (${own})`, 'min_length');
  }
  const beside = countedSettings.filter((name) => typeof settings[name] === 'string' && settings[name] !== '');
  const texts = [text, ...beside.map((name) => settings[name] as string)]; // the filter
  const words = beside.length > 0 ? `, with ${beside.join(', ')}` : '';
  const bytes = sumOf(texts.map((one) => Buffer.byteLength(one)));
  if (textBytes !== undefined && bytes > textBytes)
    yield fault('content', `the text is longer than ${textBytes} bytes (${bytes}${words})`, 'max_length');
  const counted = 10 * most; // a length that is told is exact
  const length = sumOf(texts.map((one) => countText(one, limits, counted)));
  if (length > most) {
    const told = length < counted ? length : `${counted} or more`;
    yield fault('content', `${where} is longer than ${most} ${UNIT_WORDS[unit]} (${told}${words})`, 'max_length');
  }
}
const sumOf = (lengths: readonly number[]): number => lengths.reduce((sum, length) => sum + length, 0);

/** What a text may hold so many of, by what it is found as. */
const FINDS = { link: 'links', tag: 'hashtags', mention: 'mentions' } as const satisfies Record<Found['kind'], string>;

function* checkFinds(limits: Limits, plain: string): Generator<Issue> {
  const bounded = Object.entries(FINDS).filter(([, name]) => limits[name] !== undefined);
  if (bounded.length === 0) return;
  const found = findInText(plain);
  for (const [kind, name] of bounded) {
    const [most, count] = [limits[name]!, found.filter((one) => one.kind === kind).length];
    if (count > most) yield fault('content', `the text has more than ${most} ${name} (${count})`, `max_${name}`);
  }
}

/** The part of `checkPost` that looks at the files; an outside one counts, and is looked at when it has been fetched. */
export function* checkFiles(limits: Limits, files: readonly (FileFacts | undefined)[]): Generator<Issue> {
  const { media, oneKind } = limits;
  if (files.length > media)
    yield fault(
      'image',
      `${media === 0 ? 'no' : `at most ${media}`} files can be attached (${files.length})`,
      'max_items',
    );
  const kinds = files.map((file) => file && kindOf(file));
  for (const kind of KINDS) {
    const most = limits[kind]?.count;
    const count = kinds.filter((one) => one === kind).length;
    if (most !== undefined && most < media && count > most)
      yield fault('image', `at most ${most} ${kind} files can be attached (${count})`, 'max_items');
  }
  const mixed = KINDS.filter((kind) => kinds.includes(kind));
  if (oneKind && mixed.length > 1 && !(oneKind !== true && mixed.every((kind) => oneKind.includes(kind))))
    yield fault('image', `${mixed.map((kind) => PLURALS[kind]).join(' and ')} cannot be in one post`, 'mixed');
  const beside = Math.min(...files.map((file) => (file && rulesOf(limits, file)?.beside) ?? Infinity));
  if (files.length > beside + 1)
    yield fault('image', `at most ${beside + 1} files can be in a post with such a file (${files.length})`, 'mixed');
  if (files.length > media) return; // the fault of the post, not of each file
  for (const [n, file] of files.entries()) {
    if (!file) continue;
    for (const issue of checkFile(limits, file)) yield { ...issue, field: `image.${n}` };
    const kind = kindOf(file);
    if (file.isHidden && limits.fetches?.includes(kind))
      yield fault(`image.${n}`, hiddenWords({ kind }), 'not_reachable');
  }
}
const isAnimated = ({ animated }: Limits, { contentType }: FileFacts): boolean =>
  animated !== undefined && contentType === 'image/gif';
function rulesOf(limits: Limits, file: FileFacts): FileLimits | undefined {
  if (isAnimated(limits, file)) return limits.animated;
  const kind = kindOf(file);
  return limits[kind] ?? (kind === 'audio' ? limits.video : undefined);
}

/** Tells whether a picture is sent in another form than it has: converted, scaled or compressed. */
export function isConverted(limits: Limits, file: FileFacts): boolean {
  const { mediaTypes, image: { bytes, side } = {} } = limits;
  if (kindOf(file) !== 'image' || isAnimated(limits, file)) return false;
  const longer = Math.max(file.width ?? 0, file.height ?? 0);
  return (
    !mediaTypes.some((type) => takes(type, file.contentType)) ||
    (bytes !== undefined && file.size > bytes) ||
    (side !== undefined && longer > side[1])
  );
}

type Reach = Pick<Media, 'kind' | 'publicUrl'>;
const hiddenWords = ({ kind }: Pick<Reach, 'kind'>) =>
  `The network fetches the ${kind} itself, but its address cannot be reached from outside. The operator sets a public https address of this server (NEXT_PUBLIC_BACKEND_URL), or a storage with public addresses`;

/** What a network that fetches files itself would refuse of these, because it cannot reach them. */
export function* checkReach({ fetches = [] }: Limits, files: readonly Reach[]): Generator<Issue> {
  for (const [n, file] of files.entries())
    if (fetches.includes(file.kind) && file.publicUrl === undefined)
      yield fault(`image.${n}`, hiddenWords(file), 'not_reachable');
}

/** The address of a file, or of what `fit` made of it, for a network that fetches it. Throws `ProviderError` where there is none. */
export function publicUrlOf(file: Reach | Picture): string {
  if (file.publicUrl === undefined) throw refused('rejected', hiddenWords('kind' in file ? file : { kind: 'image' }));
  return file.publicUrl;
}

function* checkFile(limits: Limits, file: FileFacts): Generator<Issue> {
  const { contentType, size, width, height, seconds, thumbnail } = file;
  const { mediaTypes: types } = limits;
  const rules = rulesOf(limits, file) ?? {};
  const isImage = kindOf(file) === 'image' && !isAnimated(limits, file);
  if (!types.some((type) => takes(type, contentType) || (isImage && type.startsWith('image/'))))
    return yield fault('', `${contentType} is not taken (${types.join(', ') || 'no files are'})`, 'type');
  if (!isImage && rules.bytes !== undefined && size > rules.bytes)
    yield fault('', `the file is larger than ${rules.bytes} bytes (${size})`, 'max_bytes');
  if (rules.thumbnail && !thumbnail) yield fault('', 'choose a picture that is shown for it', 'thumbnail');
  yield* checkRange('the length in seconds', seconds, rules.seconds, 'duration');
  if (width === undefined || height === undefined) return;
  yield* checkRange('width by height', width / height, rules.ratio, 'ratio');
  const [least, most] = rules.side ?? [];
  yield* checkRange('the shorter side in pixels', Math.min(width, height), least && [least, Infinity], 'side');
  if (!isImage) yield* checkRange('the longer side in pixels', Math.max(width, height), most && [0, most], 'side');
}

function* checkRange(
  what: string,
  value: number | undefined,
  range: readonly [number, number] | 0 | undefined,
  rule: string,
): Generator<Issue> {
  if (value === undefined || !range) return;
  const [least, most] = range;
  const shown = (one: number) => Math.round(one * 1_000) / 1_000;
  if (value < least) yield fault('', `${what} is less than ${shown(least)} (${shown(value)})`, rule);
  if (value > most) yield fault('', `${what} is more than ${shown(most)} (${shown(value)})`, rule);
}

const fault = (field: string, message: string, rule: string): Issue => ({ field, message, rule });
const PLURALS = { image: 'pictures', video: 'videos', audio: 'sounds', document: 'documents' } as const;
const KINDS = Object.keys(PLURALS) as MediaKind[];
const kindOf = ({ contentType }: FileFacts): MediaKind =>
  KINDS.find((kind) => contentType.startsWith(`${kind}/`)) ?? 'document';
/** `image/*` takes every type of its kind. */
const takes = (type: string, contentType: string): boolean =>
  type.endsWith('/*') ? contentType.startsWith(type.slice(0, -1)) : type === contentType;
