// Media of an act as SDKs take them.
import { createReadStream, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';

export const bytesOf = ({ bytes }) => Buffer.from(bytes);
export const blobOf = ({ bytes, contentType, name }) => new File([bytes], name, { type: contentType });

/** A file on disk, for those who take no other. */
export function storedOf(file) {
  const path = `${mkdtempSync(`${tmpdir()}/rookery-sdk-`)}/${file.name}`;
  writeFileSync(path, file.bytes);
  return createReadStream(path);
}
