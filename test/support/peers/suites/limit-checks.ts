import { expect } from '@jest/globals';
import {
  checkPost,
  type FileFacts,
  type Limits,
  limitsOfItem,
  type MediaKind,
  type SocialAdapter,
  takesThread,
} from '../../../../src/providers/registry/index.ts';
import type { Check } from './provider.ts';

// For each limit that a network declares a post that reaches it, which is taken, and one beyond it, which is refused.

interface Item {
  text?: string;
  files?: readonly FileFacts[];
  settings?: Readonly<Record<string, unknown>>;
}
/** A limit, an item that reaches it, and items beyond it; a field of a refusal. */
interface Bound {
  name: string;
  at?: Item;
  beyond: readonly Item[];
  field: 'content' | 'image';
}

const SAMPLES = { image: 'image/jpeg', video: 'video/mp4', audio: 'audio/mpeg', document: 'application/pdf' } as const;
const KINDS = Object.keys(SAMPLES) as MediaKind[];
/** 25 bytes that are one character to a reader. */
const FAMILY = '👨‍👩‍👧‍👦';
/** The limits that `boundsOf` probes; what only says how something is counted, sent or told. */
const PROBED = [
  'text',
  'textLeast',
  'textWithFiles',
  'textBytes',
  'media',
  'mediaTypes',
  'needsMedia',
  'oneKind',
  'single',
];
const PROBED_TOO = ['links', 'hashtags', 'mentions', 'countedSettings', 'animated', ...KINDS];
/** `idleSettings` is shown by posts/network-limits.test.ts. */
const TOLD = ['unit', 'linkLength', 'shortMentions', 'fetches', 'idleSettings'];
const PROBED_OF_FILES = ['count', 'beside', 'bytes', 'side', 'ratio', 'seconds', 'thumbnail'];

/** A type of this kind that the network takes. */
const typeOf = ({ mediaTypes }: Limits, kind: MediaKind): string | undefined =>
  [SAMPLES[kind], ...mediaTypes].find((type) => {
    const isOfKind = kind === 'document' ? type === SAMPLES.document : type.startsWith(`${kind}/`);
    return isOfKind && !type.endsWith('*') && mediaTypes.some((taken) => taken === type || taken === `${kind}/*`);
  });
const rulesOf = (limits: Limits, kind: MediaKind) =>
  limits[kind] ?? (kind === 'audio' ? limits.video : undefined) ?? {};
const times = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);

/** A file within every limit; `ratio`: width by height, `shorter`: its shorter side. */
function sample(limits: Limits, kind: MediaKind, size: { ratio?: number; shorter?: number } = {}): FileFacts {
  const { ratio: ratios = [1, 1], side = [1, 10_000], seconds: [least, most] = [0, 60] } = rulesOf(limits, kind);
  const ratio = size.ratio ?? Math.min(Math.max(1, ratios[0]), ratios[1]);
  const shorter = size.shorter ?? Math.max(side[0], 600);
  return {
    contentType: typeOf(limits, kind)!,
    size: 1,
    seconds: Math.min(Math.max(least, 20), most),
    thumbnail: {},
    width: ratio < 1 ? shorter : shorter * ratio,
    height: ratio < 1 ? shorter / ratio : shorter,
  };
}

function boundsOf(limits: Limits): Bound[] {
  const kinds = KINDS.filter((kind) => typeOf(limits, kind) !== undefined);
  const needed = limits.needsMedia ? [sample(limits, kinds[0]!)] : [];
  const post = (more: Item): Item => ({ text: 'Hello', files: needed, ...more });
  return [
    ...textBounds(limits, kinds, post),
    ...kinds.flatMap((kind) => fileBounds(limits, kind)),
    ...mixBounds(limits, kinds),
    {
      name: 'types of files',
      field: 'image',
      beyond: [{ text: 'Hello', files: [{ contentType: 'a/unknown', size: 1 }] }],
    },
    ...(limits.needsMedia ? [{ name: 'a needed file', field: 'image', beyond: [{ text: 'Hello' }] } as const] : []),
  ];
}

const filled = (bytes: number) => FAMILY.repeat(Math.floor(bytes / 25)) + 'x'.repeat(bytes % 25);

function textBounds(limits: Limits, kinds: readonly MediaKind[], post: (more: Item) => Item): Bound[] {
  const { text, textLeast, textWithFiles, textBytes, countedSettings = [] } = limits;
  const file = kinds[0] && sample(limits, kinds[0]);
  const finds = { links: 'https://a.example/', hashtags: '#tag', mentions: '@ann' } as const;
  const bound = (name: string, at: Item, beyond: Item): Bound => ({
    name,
    field: 'content',
    at: post(at),
    beyond: [post(beyond)],
  });
  const long = (length: number): Item => ({ text: 'x'.repeat(length) });
  return [
    ...(limits.needsMedia && textWithFiles !== undefined ? [] : [bound('text', long(text), long(text + 1))]),
    ...(textWithFiles !== undefined && file
      ? [
          bound(
            'text beside files',
            { ...long(textWithFiles), files: [file] },
            { ...long(textWithFiles + 1), files: [file] },
          ),
        ]
      : []),
    ...(textLeast === undefined || textLeast < 2
      ? []
      : [bound('least length of the text', long(textLeast), long(textLeast - 1))]),
    ...(textBytes === undefined
      ? []
      : [bound('bytes of the text', { text: filled(textBytes) }, { text: `${filled(textBytes)}x` })]),
    ...countedSettings.map((name) => {
      const settings = { [name]: 'xx' };
      return bound(`text with ${name}`, { ...long(text - 2), settings }, { ...long(text - 1), settings });
    }),
    ...(['links', 'hashtags', 'mentions'] as const).flatMap((name) => {
      const most = limits[name];
      const some = (count: number): Item => ({ text: times(count, finds[name]).join(' ') || 'Hello' });
      return most === undefined ? [] : [bound(name, some(most), some(most + 1))];
    }),
  ];
}

function fileBounds(limits: Limits, kind: MediaKind): Bound[] {
  const { count = limits.media, beside, bytes, seconds, ratio, side, thumbnail } = rulesOf(limits, kind);
  const file = sample(limits, kind);
  const most = Math.min(count, limits.media, 1 + (beside !== undefined && count > 1 ? beside : Infinity));
  const bound = (name: string, at: FileFacts, ...beyond: FileFacts[]): Bound => ({
    name: `${name} of ${kind} files`,
    field: 'image',
    at: { text: 'Hello', files: [at] },
    beyond: beyond.map((one) => ({ text: 'Hello', files: [one] })),
  });
  const shaped = (size: { ratio?: number; shorter?: number }) => sample(limits, kind, size);
  return [
    {
      name: `number of ${kind} files`,
      field: 'image',
      at: { text: 'Hello', files: times(most, file) },
      beyond: [{ text: 'Hello', files: times(most + 1, file) }],
    },
    ...(bytes !== undefined && kind !== 'image'
      ? [bound('bytes', { ...file, size: bytes }, { ...file, size: bytes + 1 })]
      : []),
    ...(seconds
      ? [
          bound('greatest length', { ...file, seconds: seconds[1] }, { ...file, seconds: seconds[1] + 1 }),
          bound('least length', { ...file, seconds: seconds[0] }, { ...file, seconds: seconds[0] - 0.1 }),
        ]
      : []),
    ...(ratio
      ? [
          bound('widest shape', shaped({ ratio: ratio[1] }), shaped({ ratio: ratio[1] * 1.01 })),
          bound('highest shape', shaped({ ratio: ratio[0] }), shaped({ ratio: ratio[0] * 0.99 })),
        ]
      : []),
    ...(side ? [bound('shorter side', shaped({ shorter: side[0] }), shaped({ shorter: side[0] - 1 }))] : []),
    ...(side && kind !== 'image' ? [bound('longer side', longest(file, side[1]), longest(file, side[1] + 1))] : []),
    ...(thumbnail ? [bound('chosen picture', file, { ...file, thumbnail: undefined })] : []),
  ];
}
/** The file with this longer side, in its shape. */
function longest(file: FileFacts, side: number): FileFacts {
  const scale = side / Math.max(file.width!, file.height!);
  return { ...file, width: file.width! * scale, height: file.height! * scale };
}

/** What goes with what, and files that are sent as they are. */
function mixBounds(limits: Limits, kinds: readonly MediaKind[]): Bound[] {
  const { media, oneKind, animated } = limits;
  const one = (kind: MediaKind) => sample(limits, kind);
  const pairs = media < 2 ? [] : kinds.flatMap((a, n) => kinds.slice(n + 1).map((b) => [a, b] as const));
  const isMixed = (pair: readonly MediaKind[]) =>
    oneKind !== undefined && !(oneKind !== true && pair.every((kind) => oneKind.includes(kind)));
  const mixes = pairs.map((pair): Bound => {
    const item = { text: 'Hello', files: pair.map(one) };
    const name = pair.join(' beside ');
    return isMixed(pair) ? { name, field: 'image', beyond: [item] } : { name, field: 'image', at: item, beyond: [] };
  });
  const besides = kinds.flatMap((kind): Bound[] => {
    const { beside } = rulesOf(limits, kind);
    const other = kinds.find((each) => each !== kind);
    if (beside === undefined || !other) return [];
    const files = (count: number) => ({ text: 'Hello', files: [one(kind), ...times(count, one(other))] });
    return [{ name: `files beside ${kind} files`, field: 'image', at: files(beside), beyond: [files(beside + 1)] }];
  });
  if (!animated) return [...mixes, ...besides];
  const gif = { contentType: 'image/gif', size: animated.bytes ?? 1, width: 600, height: 600 };
  const beyond = [
    ...(animated.bytes === undefined ? [] : [{ text: 'Hello', files: [{ ...gif, size: animated.bytes + 1 }] }]),
    ...(animated.beside === undefined
      ? []
      : [{ text: 'Hello', files: [gif, ...times(animated.beside + 1, one('image'))] }]),
  ];
  return [
    ...mixes,
    ...besides,
    { name: 'animated pictures', field: 'image', at: { text: 'Hello', files: [gif] }, beyond },
  ];
}

/** A value at a path with dots. */
const nested = (path: string, value: unknown): Readonly<Record<string, unknown>> =>
  path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Record<string, unknown>;

/** The checks of posts of each type, and of later items. */
export function limitChecks({ limits, threads, comment }: SocialAdapter): Check[] {
  const rules = { limits, threads, commentLimits: comment?.limits };
  const { setting, limits: types = {} } = limits.byType ?? {};
  const items: [name: string, settings: Readonly<Record<string, unknown>>, isLater: boolean][] = [
    ['a post', {}, false],
    ...Object.keys(types).map(
      (type) =>
        [`a post with ${setting} ${type}`, nested(setting!, type), false] as [
          string,
          object & Record<string, unknown>,
          boolean,
        ],
    ),
    ...(threads === 'none' ? [] : [['a later item', {}, true] as [string, Record<string, unknown>, boolean]]),
  ];
  return items.flatMap(([name, settings, isLater]) => {
    const own = limitsOfItem(rules, settings, isLater);
    const judge = ({ text = '', files = [], settings: more }: Item) =>
      checkPost(own, { text, files, settings: more ?? {} });
    return [
      ...boundsOf(own).map(({ name: what, at, beyond, field }) => ({
        name: `${name}: takes ${what} at the limit, and names the field of what is beyond it`,
        async run() {
          if (at) expect(judge(at)).toEqual([]);
          for (const item of beyond) expect(judge(item).map((issue) => issue.field.split('.')[0])).toContain(field);
        },
      })),
      {
        name: `${name}: has no limit that is not tried, and a thread where it may have one`,
        async run() {
          const known = [...PROBED, ...PROBED_TOO, ...TOLD];
          expect(Object.keys(own).filter((key) => !known.includes(key))).toEqual([]);
          const ofFiles = [...KINDS, 'animated' as const].flatMap((kind) => Object.keys(own[kind] ?? {}));
          expect(ofFiles.filter((key) => !PROBED_OF_FILES.includes(key))).toEqual([]);
          expect(takesThread(rules, settings)).toBe(threads !== 'none' && !own.single);
        },
      },
    ];
  });
}
