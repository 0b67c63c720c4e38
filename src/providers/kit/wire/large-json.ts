import { randomBase62 } from '../../../platform/kernel/index.ts';
import type { AnswerFiles, FileWriter } from './answer-files.ts';
import { FILE_CHARACTERS, type LargeFile } from './large.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;

/** The beginning of a text that is base64, with the type of a `data:` address. */
const BEGINNING =
  /^(?:data:([\w.+/-]+)(?:;[\w=.-]+)*;base64,)?([A-Za-z0-9+/_-][A-Za-z0-9+/_\r\n-]*(?:={1,2}[\r\n]*)?)$/;
const MORE = /^[A-Za-z0-9+/_\r\n-]*(?:={1,2}[\r\n]*)?$/;
const END = /^[=\r\n]*$/;

/** Bytes that are appended to; pieces are copied, since a view would hold all that came with it in memory. */
class Bytes {
  #all = Buffer.alloc(256);
  length = 0;

  append(piece: Uint8Array): void {
    const length = this.length + piece.length;
    if (length > this.#all.length) {
      const larger = Buffer.alloc(2 * length);
      larger.set(this.#all.subarray(0, this.length));
      this.#all = larger;
    }
    this.#all.set(piece, this.length);
    this.length = length;
  }
  get all(): Buffer {
    return this.#all.subarray(0, this.length);
  }
}

/** A text that is read. */
interface Text {
  /** The beginning, until it is known what it is. */
  held?: Bytes | undefined;
  file?: Base64Writer;
}

interface Bounds {
  maxBytes: number;
  tooLarge: () => Error;
  fileCharacters?: number;
}

/**
 * Parses JSON while it is read: each text in base64 of more than `fileCharacters` is decoded into a file, and the rest
 * is held, at most `maxBytes` of it. Throws `SyntaxError` for what is no JSON, and what `tooLarge` makes.
 */
export async function parseLargeJson(
  source: AsyncIterable<Uint8Array>,
  files: AnswerFiles,
  { maxBytes, tooLarge, fileCharacters = FILE_CHARACTERS }: Bounds,
): Promise<unknown> {
  const mark = randomBase62(32);
  const found: LargeFile[] = [];
  const kept = new Bytes();
  const keep = (bytes: Uint8Array) => {
    if (kept.length + bytes.length > maxBytes) throw tooLarge();
    kept.append(bytes);
  };
  let text: Text | undefined;

  async function take(into: Text, bytes: Buffer): Promise<void> {
    if (into.file) return into.file.write(unescaped(bytes));
    if (!into.held) return keep(bytes);
    into.held.append(bytes);
    if (into.held.length <= fileCharacters) return;
    const [whole, contentType, base64 = ''] = BEGINNING.exec(unescaped(into.held.all)) ?? [];
    if (whole === undefined) keep(into.held.all);
    else into.file = new Base64Writer(await files.begin(contentType));
    into.held = undefined;
    await into.file?.write(base64);
  }
  async function end({ held, file }: Text): Promise<void> {
    if (file) keep(Buffer.from(`${mark}:${found.push(await file.end()) - 1}`));
    else if (held) keep(held.all);
  }

  let carried: Uint8Array = Buffer.alloc(0); // an escape whose rest comes with the next piece
  for await (const piece of source) {
    const bytes = Buffer.concat([carried, piece]);
    carried = Buffer.alloc(0);
    let quote = -1;
    for (let at = 0; at < bytes.length;) {
      if (quote < at) quote = bytes.indexOf(QUOTE, at);
      if (quote === -1) quote = bytes.length;
      if (!text) {
        keep(bytes.subarray(at, quote + 1));
        if (quote < bytes.length) text = { held: new Bytes() };
        at = quote + 1;
        continue;
      }
      const plain = bytes.subarray(at, quote).indexOf(BACKSLASH);
      const to = plain === -1 ? quote : at + plain;
      if (to > at) await take(text, bytes.subarray(at, to));
      at = to;
      if (at === bytes.length) break;
      if (at === quote) {
        await end(text);
        text = undefined;
        keep(bytes.subarray(at, at + 1));
        at += 1;
        continue;
      }
      const next = at + (bytes[at + 1] === LETTER_U ? 6 : 2);
      if (next > bytes.length) {
        carried = Buffer.from(bytes.subarray(at));
        break;
      }
      await take(text, bytes.subarray(at, next));
      at = next;
    }
  }
  if (carried.length > 0 || text) throw new SyntaxError('The answer ends within a text');
  const value: unknown = JSON.parse(kept.all.toString());
  return found.length === 0 ? value : withFiles(value, new Map(found.map((file, at) => [`${mark}:${at}`, file])));
}

/** Puts the files in their places. */
function withFiles(value: unknown, files: ReadonlyMap<string, LargeFile>): unknown {
  if (typeof value === 'string') return files.get(value) ?? value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => withFiles(one, files));
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withFiles(one, files)]));
}

const PLAIN: Readonly<Record<string, string>> = { '/': '/', n: '\n', r: '\r' };
/** Undoes the escapes of a piece of a text; what is no text stays, and is refused where it is not base64. */
function unescaped(bytes: Buffer): string {
  const text = bytes.toString('latin1');
  if (!text.includes('\\')) return text;
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|([/nr]))/g, (_, code: string | undefined, letter: string) =>
    code === undefined ? PLAIN[letter]! : String.fromCharCode(parseInt(code, 16)),
  );
}

/** Decodes base64 that comes in pieces of any length, with blanks in it and with or without its end. */
class Base64Writer {
  readonly #file: FileWriter;
  #rest = '';
  #ended = false;

  constructor(file: FileWriter) {
    this.#file = file;
  }

  async write(piece: string): Promise<void> {
    if (!(this.#ended ? END : MORE).test(piece))
      throw new SyntaxError('A text of the answer begins as base64 and goes on otherwise');
    this.#ended ||= piece.includes('=');
    const text = this.#rest + piece.replace(/[\r\n=]+/g, '');
    const whole = text.length - (text.length % 4);
    this.#rest = text.slice(whole);
    if (whole > 0) await this.#file.write(Buffer.from(text.slice(0, whole), 'base64'));
  }

  async end(): Promise<LargeFile> {
    if (this.#rest.length === 1) throw new SyntaxError('A text of the answer ends within base64');
    await this.#file.write(Buffer.from(this.#rest, 'base64'));
    return this.#file.end();
  }
}
