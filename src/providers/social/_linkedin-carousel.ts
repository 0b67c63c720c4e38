import type { RangedFile, SentFile } from '../kit/declare/media.ts';

/** A JPEG file in RGB with its sides in pixels, as `fit` converts pictures. */
type Page = Pick<SentFile, 'size' | 'open'> & { width: number; height: number };

const WIDTH = 1_080;
const OBJECTS_A_PAGE = 3;

/** Makes a PDF with one picture on each page. It is written while it is read, so no picture is held in memory. */
export function carouselOf(pages: readonly Page[], name: string): RangedFile {
  const pieces: (Buffer | Page)[] = [];
  const offsets: number[] = [];
  let size = 0;
  const add = (piece: string | Page) => {
    const bytes = typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece;
    pieces.push(bytes);
    size += Buffer.isBuffer(bytes) ? bytes.length : bytes.size;
  };
  /** Writes the next object; they are numbered from 1. */
  const object = (dictionary: string, stream?: string | Page) => {
    offsets.push(size);
    add(`${offsets.length} 0 obj\n<< ${dictionary} >>\n`);
    if (stream !== undefined) for (const part of ['stream\n', stream, '\nendstream\n']) add(part);
    add('endobj\n');
  };

  const first = (page: number) => 3 + page * OBJECTS_A_PAGE;
  add('%PDF-1.4\n%\u00e2\u00e3\u00cf\u00d3\n'); // the second line says that there are bytes that are no text
  object('/Type /Catalog /Pages 2 0 R');
  object(`/Type /Pages /Count ${pages.length} /Kids [${pages.map((_, n) => `${first(n)} 0 R`).join(' ')}]`);
  for (const [n, page] of pages.entries()) {
    const height = Math.max(1, Math.round((WIDTH * page.height) / page.width));
    const [content, picture] = [first(n) + 1, first(n) + 2];
    const drawn = `${WIDTH} 0 0 ${height} 0 0 cm /P Do`;
    object(
      `/Type /Page /Parent 2 0 R /MediaBox [0 0 ${WIDTH} ${height}] /Contents ${content} 0 R /Resources << /XObject << /P ${picture} 0 R >> >>`,
    );
    object(`/Length ${drawn.length}`, drawn);
    object(
      `/Type /XObject /Subtype /Image /Width ${page.width} /Height ${page.height} /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /DCTDecode /Length ${page.size}`,
      page,
    );
  }
  const table = size;
  const count = offsets.length + 1;
  const entries = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  add(`xref\n0 ${count}\n0000000000 65535 f \n${entries}`);
  add(`trailer\n<< /Size ${count} /Root 1 0 R >>\nstartxref\n${table}\n%%EOF\n`);

  return {
    name: `${name}.pdf`,
    contentType: 'application/pdf',
    size,
    /** It is sent as a whole: a range is not asked for. */
    async *read() {
      for (const piece of pieces) {
        if (Buffer.isBuffer(piece)) yield piece;
        else yield* piece.open();
      }
    },
  };
}
