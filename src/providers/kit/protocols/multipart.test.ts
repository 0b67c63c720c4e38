import { expect, test } from '@jest/globals';
import { buffer } from 'node:stream/consumers';
import { multipartOf } from './multipart.ts';

const file = (text: string) => ({
  name: 'a "b"\r\n.txt',
  contentType: 'text/plain',
  size: text.length,
  async *open() {
    for (const sign of text) yield Buffer.from(sign);
  },
});

test('multipartOf yields a body of the declared length that parses to its fields, each time it is opened', async () => {
  const form = multipartOf({
    file: file('some bytes'),
    description: 'Größe\n',
    none: undefined,
    all: ['1', file('2')],
  });
  for (const body of [await buffer(form.open()), await buffer(form.open())]) {
    expect(body.length).toBe(form.size);
    const read = await new Response(new Uint8Array(body), { headers: { 'content-type': form.contentType } }).formData();
    expect([...read.keys()]).toEqual(['file', 'description', 'all', 'all']);
    expect(read.get('description')).toBe('Größe\n');
    expect(read.get('file')).toMatchObject({ name: 'a "b"\r\n.txt', type: 'text/plain', size: 10 });
    expect(read.getAll('all')).toEqual(['1', expect.objectContaining({ size: 1 })]);
    expect(await (read.get('file') as File).text()).toBe('some bytes');
  }
});
