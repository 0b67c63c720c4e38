import { randomBase62 } from '../../../platform/kernel/index.ts';
import type { Body, NamedBody } from '../declare/media.ts';

type Part = string | NamedBody;
/** Fields of a form by name, several under one name in their order; undefined ones are left out. */
export type Multipart = Readonly<Record<string, Part | readonly Part[] | undefined>>;

const escaped = (text: string): string => text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');

/** Makes a form one body of known length (RFC 7578); files are read while it is sent. */
export function multipartOf(fields: Multipart): Body {
  const boundary = `form-${randomBase62(32)}`;
  const given = Object.entries(fields).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => [name, one as Part] as const),
  );
  const parts = given.flatMap(([name, value]) => {
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="${escaped(name)}"`;
    if (typeof value === 'string') return [Buffer.from(`${head}\r\n\r\n${value}\r\n`)];
    const kind = `filename="${escaped(value.name)}"\r\ncontent-type: ${escaped(value.contentType)}`;
    return [Buffer.from(`${head}; ${kind}\r\n\r\n`), value, Buffer.from('\r\n')];
  });
  parts.push(Buffer.from(`--${boundary}--\r\n`));
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    size: parts.reduce((sum, part) => sum + (Buffer.isBuffer(part) ? part.length : part.size), 0),
    async *open(how) {
      for (const part of parts) {
        if (Buffer.isBuffer(part)) yield part;
        else yield* part.open(how);
      }
    },
  };
}
