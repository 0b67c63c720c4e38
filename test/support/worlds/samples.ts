import sharp from 'sharp';

/** A plain picture. */
export const picture = (
  width: number,
  height: number,
  format: 'png' | 'jpeg' | 'webp' | 'gif' | 'avif' | 'tiff' = 'png',
): Promise<Buffer> =>
  sharp({ create: { width, height, channels: 3, background: { r: 20, g: 120, b: 90 } } })
    .toFormat(format)
    .toBuffer();

const box = (type: string, ...data: (string | Buffer)[]) => {
  const body = Buffer.concat([Buffer.from(type), ...data.map((one) => Buffer.from(one as string))]);
  const size = Buffer.alloc(4);
  size.writeUInt32BE(body.length + 4);
  return Buffer.concat([size, body]);
};
const zeros = (n: number) => Buffer.alloc(n);

/** The first bytes of files of each kind, as small as a file can be that still says what it is. */
export const HEADS: Readonly<Record<string, Buffer>> = {
  mp4: Buffer.concat([box('ftyp', 'isom', zeros(4), 'isomavc1'), box('free', zeros(64))]),
  m4v: Buffer.concat([box('ftyp', 'M4V ', zeros(4), 'M4V mp42'), box('free', zeros(64))]),
  m4a: Buffer.concat([box('ftyp', 'M4A ', zeros(4), 'M4A mp42'), box('free', zeros(64))]),
  mov: Buffer.concat([box('ftyp', 'qt  ', zeros(4), 'qt  '), box('free', zeros(64))]),
  heic: Buffer.concat([box('ftyp', 'heic', zeros(4), 'mif1heic'), box('free', zeros(64))]),
  webm: Buffer.concat([
    Buffer.from('1a45dfa39f4286810142f7810142f2810442f381084282847765626d4287810442858102', 'hex'),
    zeros(64),
  ]),
  mp3: Buffer.concat([Buffer.from('fffb9064', 'hex'), zeros(413), Buffer.from('fffb9064', 'hex'), zeros(413)]),
  wav: Buffer.concat([Buffer.from('RIFF'), Buffer.from('24000000', 'hex'), Buffer.from('WAVEfmt '), zeros(64)]),
  ogg: Buffer.concat([
    Buffer.from('4f67675300020000000000000000000000000000000000000000011e01766f72626973', 'hex'),
    zeros(64),
  ]),
  bmp: Buffer.concat([Buffer.from('BM'), zeros(100)]),
  pdf: Buffer.from('%PDF-1.4\n1 0 obj<<>>endobj\ntrailer<<>>\n%%EOF\n'),
};

/** A multipart body with one file, as browsers and programs send it. */
export function formOf(
  data: Uint8Array,
  {
    name = 'picture.png',
    type = 'image/png',
    field = 'file',
    more = {},
  }: { name?: string; type?: string; field?: string; more?: Record<string, string> } = {},
): FormData {
  const form = new FormData();
  for (const [key, value] of Object.entries(more)) form.set(key, value);
  form.set(field, new Blob([data as Uint8Array<ArrayBuffer>], { type }), name);
  return form;
}
