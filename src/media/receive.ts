import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import busboy from 'busboy';
import { AppError, type FieldError, invalidField, randomBase62, validationFailed } from '../kernel/index.ts';

/** Bytes that came in and lie in a file of their own, not looked at yet. Who receives it moves it away or disposes it. */
export interface Received extends AsyncDisposable {
  path: string;
  size: number;
}
export interface Upload extends Received {
  filename: string | undefined;
  fields: Readonly<Record<string, string>>;
}

export const tooLarge = (maxBytes: number) => new AppError('too_large', `The file is larger than ${maxBytes} bytes`);
const noFile = () => new AppError('invalid_request', 'No file provided');

/** Writes a stream to a new file in `folder`; more than `maxBytes` is `too_large` at once, and nothing is left behind by a failure. */
export async function receive(source: AsyncIterable<Uint8Array>, folder: string, maxBytes: number): Promise<Received> {
  const path = join(folder, randomBase62(32));
  let size = 0;
  const meter = new Transform({
    transform(chunk: Uint8Array, _, done) {
      size += chunk.byteLength;
      done(size > maxBytes ? tooLarge(maxBytes) : null, chunk);
    },
  });
  try {
    await pipeline(Readable.from(source, { objectMode: false }), meter, createWriteStream(path, { flags: 'wx', mode: 0o640 }));
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
  return { path, size, [Symbol.asyncDispose]: () => rm(path, { force: true }) };
}

const FIELDS = ['preventSave', 'folder'];

const DRAINED = 16 * 1024 * 1024;
/** Reads on and throws away, so that a client that is still sending gets to read its answer; one that does not end is cut off. */
export function drain(request: IncomingMessage): void {
  let size = 0;
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > DRAINED) request.destroy();
  });
  request.resume();
}

/** Reads a multipart body with one `file`, streaming it to disk. Nothing is kept after the first fault. */
export async function receiveUpload(request: IncomingMessage, folder: string, maxBytes: number): Promise<Upload> {
  try {
    return await readForm(request, folder, maxBytes);
  } catch (error) {
    if (!request.readableEnded) drain(request);
    throw error;
  }
}

async function readForm(request: IncomingMessage, folder: string, maxBytes: number): Promise<Upload> {
  if (!/^multipart\/form-data\s*;/i.test(request.headers['content-type'] ?? ''))
    throw new AppError('unsupported_media', 'Send the file as multipart/form-data in the field `file`');
  if (Number(request.headers['content-length']) > maxBytes + 65_536) throw tooLarge(maxBytes); // the rest of the form is far smaller than that
  const form = openForm(request, maxBytes);
  const fields: Record<string, string> = {};
  const errors: FieldError[] = [];
  let file: Promise<Received> | undefined;
  let filename: string | undefined;

  const stop = (error: Error) => {
    request.unpipe(form);
    form.destroy(error);
  };
  const finished = new Promise<void>((done, fail) => {
    form.on('close', done).on('error', fail);
    request.once('error', stop).once('aborted', () => stop(new AppError('invalid_request', 'The upload was cut off')));
    form.on('field', (name, value, { nameTruncated, valueTruncated }) => {
      if (name === 'file' && !nameTruncated) return; // a part without a file name: nothing was chosen
      if (!FIELDS.includes(name) || nameTruncated) errors.push({ field: name, message: `property ${name} should not exist`, rule: 'unknown' });
      else if (valueTruncated || Buffer.byteLength(value) > 255) errors.push({ field: name, message: `${name}: at most 255 bytes`, rule: 'too_big' });
      else fields[name] = value;
    });
    form.on('file', (name, stream, info) => {
      if (name !== 'file') {
        errors.push({ field: name, message: `property ${name} should not exist`, rule: 'unknown' });
        stream.resume();
        return;
      }
      filename = info.filename;
      file = receive(stream, folder, maxBytes);
      file.catch(stop);
    });
    for (const limit of ['filesLimit', 'fieldsLimit', 'partsLimit'] as const)
      form.on(limit, () => stop(invalidField('file', 'file: one file at a time', 'too_big')));
  });
  request.pipe(form);

  try {
    await finished;
    if (errors.length > 0) throw validationFailed(errors);
    const received = await file;
    if (!received || received.size === 0) throw noFile();
    return { ...received, filename, fields };
  } catch (error) {
    request.unpipe(form);
    await file?.then(
      (received) => received[Symbol.asyncDispose](),
      () => {},
    );
    throw error instanceof AppError ? error : new AppError('invalid_request', 'The multipart body cannot be read', {}, { cause: error });
  }
}

function openForm(request: IncomingMessage, maxBytes: number) {
  try {
    return busboy({
      headers: request.headers,
      defParamCharset: 'utf8',
      limits: { files: 1, fields: 8, parts: 10, fieldSize: 1_024, fileSize: maxBytes + 1, headerPairs: 32 },
    });
  } catch (cause) {
    throw new AppError('invalid_request', 'The multipart body cannot be read', {}, { cause });
  }
}
