import { expect, test } from '@jest/globals';
import sharp from 'sharp';
import { fitPicture } from './picture.ts';

const noise = (side: number, format: 'png' | 'jpeg') =>
  sharp({ create: { width: side, height: side, channels: 3, background: '#888', noise: { type: 'gaussian', mean: 128, sigma: 60 } } })
    .toFormat(format)
    .toBuffer();
const source = (data: Uint8Array, contentType: string) => ({ contentType, bytes: async () => data });
const types = ['image/jpeg', 'image/png'];

test('what fits stays as it is', async () => {
  const data = await noise(50, 'png');
  await expect(fitPicture(source(data, 'image/png'), { maxBytes: 1_000_000, types })).resolves.toEqual({
    data,
    contentType: 'image/png',
    width: 50,
    height: 50,
  });
});

test('what is too large becomes a smaller JPEG, by bytes and by pixels', async () => {
  const data = await noise(300, 'png');
  const small = (await fitPicture(source(data, 'image/png'), { maxBytes: 20_000, types }))!;
  expect([small.contentType, small.data.length <= 20_000, small.width === small.height]).toEqual(['image/jpeg', true, true]);
  const few = (await fitPicture(source(data, 'image/png'), { maxPixels: 10_000, types }))!;
  expect(few.width * few.height).toBeLessThanOrEqual(10_100);
});

test('a type that is not taken becomes JPEG, and a turned picture is upright', async () => {
  const turned = await sharp(
    await sharp({ create: { width: 80, height: 40, channels: 3, background: '#a00' } })
      .webp()
      .toBuffer(),
  )
    .withMetadata({ orientation: 6 })
    .webp()
    .toBuffer();
  await expect(fitPicture(source(turned, 'image/webp'), { types })).resolves.toMatchObject({ contentType: 'image/jpeg', width: 40, height: 80 });
});

test('a film is no picture, and what cannot be made to fit is refused', async () => {
  await expect(fitPicture(source(new Uint8Array(4), 'video/mp4'), { types })).resolves.toBeUndefined();
  await expect(fitPicture(source(await noise(100, 'png'), 'image/png'), { maxBytes: 50, types })).resolves.toBeUndefined();
});

test('a picture of a format that cannot be read here is answered, not thrown', async () => {
  const bitmap = Buffer.from('424d3a0000000000000036000000280000000100000001000000010018000000000004000000130b0000130b00000000000000000000ff000000', 'hex');
  await expect(fitPicture(source(bitmap, 'image/bmp'), { types })).resolves.toBeUndefined();
});
