import { randomBase62 } from '../../../platform/kernel/index.ts';
import type { Body } from '../declare/media.ts';

/** A file that stands in a JSON body as base64. */
class Base64 {
  readonly file: Body;
  readonly prefix: string;
  constructor(file: Body, prefix: string) {
    this.file = file;
    this.prefix = prefix;
  }
}

/** Puts a file as base64 in its place in a JSON body. */
export const inBase64 = (file: Body): unknown => new Base64(file, '');
/** Puts a file as a `data:` address in its place in a JSON body. */
export const asDataUrl = (file: Body): unknown => new Base64(file, `data:${file.contentType};base64,`);

/** Makes a JSON body of known length; files are read while it is sent. */
export function jsonBody(value: unknown): Body {
  const mark = randomBase62(32);
  const files: Base64[] = [];
  const json = JSON.stringify(value, (_, one: unknown) =>
    one instanceof Base64 ? `${mark}${files.push(one) - 1}.` : one,
  );
  const [first, ...others] = json.split(mark);
  const parts = others.flatMap((part) => [part.slice(0, part.indexOf('.')), part.slice(part.indexOf('.') + 1)]);
  const pieces = [first!, ...parts].map((piece, at) => {
    const file = at % 2 === 1 ? files[Number(piece)]! : undefined;
    return { text: Buffer.from(file ? JSON.stringify(file.prefix).slice(1, -1) : piece), file: file?.file };
  });
  return {
    contentType: 'application/json',
    size: pieces.reduce((sum, { text, file }) => sum + text.length + (file ? 4 * Math.ceil(file.size / 3) : 0), 0),
    async *open() {
      for (const { text, file } of pieces) {
        if (text.length > 0) yield text;
        if (file) yield* base64Of(file);
      }
    },
  };
}

/** Encodes a file in groups of three bytes, however it is cut. */
async function* base64Of(file: Body): AsyncGenerator<Uint8Array> {
  let rest = Buffer.alloc(0);
  for await (const piece of file.open()) {
    const bytes = Buffer.concat([rest, piece]);
    const whole = bytes.length - (bytes.length % 3);
    rest = bytes.subarray(whole);
    if (whole > 0) yield Buffer.from(bytes.subarray(0, whole).toString('base64'));
  }
  if (rest.length > 0) yield Buffer.from(rest.toString('base64'));
}
