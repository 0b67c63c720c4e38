import { expect, test } from '@jest/globals';
import { carouselOf } from './_linkedin-carousel.ts';

const page = (text: string, width: number, height: number) => ({
  size: Buffer.byteLength(text),
  width,
  height,
  async *open() {
    yield Buffer.from(text);
  },
});
const written = async (pages: Parameters<typeof carouselOf>[0]) => {
  const file = carouselOf(pages, 'Slides');
  const pieces: Buffer[] = [];
  for await (const piece of file.read(0, file.size)) pieces.push(Buffer.from(piece));
  return { file, text: Buffer.concat(pieces).toString('latin1') };
};

test('a carousel is a PDF whose table names each object, and that is as long as it says', async () => {
  const { file, text } = await written([page('one picture', 2_000, 1_000), page('another', 500, 1_000)]);
  expect(file).toMatchObject({ name: 'Slides.pdf', contentType: 'application/pdf', size: text.length });
  const table = Number(/startxref\n(\d+)\n%%EOF\n$/.exec(text)?.[1]);
  const [, count, ...entries] = text.slice(table).split('\ntrailer')[0]!.split('\n');
  expect(count).toBe(`0 ${entries.length}`);
  for (const [number, entry] of entries.entries()) {
    expect(entry).toHaveLength(19); // with its line break 20 bytes, which readers rely on
    if (number > 0) expect(text.slice(Number(entry.slice(0, 10)))).toMatch(new RegExp(`^${number} 0 obj\\n`));
  }
});

test('each picture is a page of its shape, and stands there unchanged', async () => {
  const { text } = await written([page('one picture', 2_000, 1_000), page('another', 500, 1_000)]);
  expect([...text.matchAll(/\/MediaBox \[([\d ]+)\]/g)].map(([, box]) => box)).toEqual([
    '0 0 1080 540',
    '0 0 1080 2160',
  ]);
  expect(text).toContain('/Width 2000 /Height 1000 /ColorSpace /DeviceRGB');
  for (const [, length, bytes] of text.matchAll(/\/Length (\d+) >>\nstream\n([\s\S]*?)\nendstream/g))
    expect(bytes).toHaveLength(Number(length));
  expect(text).toContain('stream\none picture\nendstream');
});
