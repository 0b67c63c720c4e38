import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../../test/support/properties.ts';
import type { AnswerFiles } from './answer-files.ts';
import type { LargeFile } from './large.ts';
import { parseLargeJson } from './large-json.ts';

/** Files in memory, each with what was written to it. */
function memoryFiles(): AnswerFiles & { bytes: Map<unknown, Buffer> } {
  const bytes = new Map<unknown, Buffer>();
  return {
    bytes,
    async begin(contentType = 'application/octet-stream') {
      const pieces: Uint8Array[] = [];
      return {
        write: async (piece) => void pieces.push(Buffer.from(piece)),
        async end() {
          const all = Buffer.concat(pieces);
          const file: LargeFile = {
            contentType,
            size: all.length,
            async *open() {
              yield all;
            },
            discard: async () => {},
          };
          bytes.set(file, all);
          return file;
        },
      };
    },
    keep: async () => {},
  };
}

async function* cut(bytes: Buffer, at: readonly number[]) {
  const borders = [0, ...at.map((one) => one % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  for (const [index, from] of borders.slice(0, -1).entries()) yield bytes.subarray(from, borders[index + 1]);
}
const FILE = 16;
const parse = (text: string, files = memoryFiles(), at: readonly number[] = [], maxBytes = 1_000_000) =>
  parseLargeJson(cut(Buffer.from(text), at), files, {
    maxBytes,
    tooLarge: () => new Error('too large'),
    fileCharacters: FILE,
  });

/** Puts the bytes of files back as base64. */
function written(value: unknown, { bytes }: ReturnType<typeof memoryFiles>): unknown {
  if (bytes.has(value)) {
    const { contentType } = value as LargeFile;
    const text = bytes.get(value)!.toString('base64');
    return contentType === 'application/octet-stream' ? text : `data:${contentType};base64,${text}`;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => written(one, { bytes } as never));
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, written(one, { bytes } as never)]));
}

const text = fc.string({ unit: 'binary', maxLength: 60 }).map((one) => `\u00a7${one}`); // never base64
const short = fc.string({ unit: 'binary', maxLength: 2 });
const base64 = fc.uint8Array({ minLength: 15, maxLength: 90 }).map((one) => Buffer.from(one).toString('base64'));
const address = base64.map((one) => `data:image/png;base64,${one}`);
const broken = base64.map((one) => one.replace(/.{20}/g, '$&\r\n'));
const { document } = fc.letrec<{ document: unknown }>((tie) => ({
  document: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(text, short, base64, address, broken, fc.double({ noNaN: true }), fc.boolean(), fc.constant(null)),
    fc.array(tie('document'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(short, text), tie('document'), { maxKeys: 4 }),
  ),
}));
const cuts = fc.array(fc.nat({ max: 4_000 }), { maxLength: 12 });
/** JSON with every slash escaped, as some servers write it, or every character that can be. */
const spellings = [
  (value: unknown) => JSON.stringify(value),
  (value: unknown) => JSON.stringify(value, null, 2),
  (value: unknown) => JSON.stringify(value).replaceAll('/', '\\/'),
  (value: unknown) =>
    JSON.stringify(value).replace(/(?<!\de)\+|=/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`),
];

/** A value as JSON without the line breaks that base64 may have. */
const joined = (value: unknown) => JSON.stringify(value).replaceAll('\\r\\n', '');

describe('parseLargeJson', () => {
  test('answers what JSON.parse does, with long base64 as files, wherever the pieces are cut', async () => {
    await fc.assert(
      fc.asyncProperty(document, fc.constantFrom(...spellings), cuts, async (value, spell, at) => {
        const files = memoryFiles();
        const json = spell(value);
        expect(joined(written(await parse(json, files, at), files))).toBe(joined(JSON.parse(json)));
      }),
      { numRuns: 500 },
    );
  });

  test('decodes every long text in base64 into a file, and no short one', async () => {
    const files = memoryFiles();
    const bytes = Buffer.from('of a picture, long enough:');
    const few = 'AAAA';
    const json = JSON.stringify({ data: [{ b64_json: bytes.toString('base64') }, { b64_json: few }] });
    const { data } = (await parse(json, files)) as { data: { b64_json: unknown }[] };
    expect(data[1]!.b64_json).toBe(few);
    expect(files.bytes.get(data[0]!.b64_json)).toEqual(bytes);
  });

  test('takes the same whole at every border of two pieces', async () => {
    const bytes = Buffer.from([...Array(40).keys()].map((one) => 255 - one));
    const json = `{"a\\"\\u00e9":"\\\\","b":"data:image/webp;base64,${bytes.toString('base64').replaceAll('/', '\\/').replace('=', '\\u003d')}","é":"\\ud83d\\ude00"}`;
    const expected = JSON.parse(json) as unknown;
    for (let at = 0; at <= Buffer.byteLength(json); at += 1) {
      const files = memoryFiles();
      expect(written(await parse(json, files, [at]), files)).toEqual(expected);
    }
  });

  test.each([
    ['nothing', ''],
    ['half a text', '{"a":"b'],
    ['half a file', `{"a":"${'A'.repeat(40)}`],
    ['half an escape', '{"a":"\\u00'],
    ['half an object', '{"a":1'],
    ['two values', '{}{}'],
    ['a page', '<!doctype html>'],
    ['base64 that goes on as text', `{"a":"${'A'.repeat(40)}!"}`],
    ['base64 that goes on after its end', `{"a":"${'A'.repeat(40)}=A"}`],
    ['base64 with one character too many', `{"a":"${'A'.repeat(41)}"}`],
  ])('refuses %s', async (_, json) => expect(parse(json, memoryFiles(), [30])).rejects.toThrow(SyntaxError));

  test('bounds what it holds, which files are no part of', async () => {
    const file = 'A'.repeat(4_000);
    await expect(parse(JSON.stringify([file, file]), memoryFiles(), [], 400)).resolves.toHaveLength(2);
    await expect(parse(JSON.stringify([' '.repeat(4_000)]), memoryFiles(), [], 400)).rejects.toThrow('too large');
  });
});
