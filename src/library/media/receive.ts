import type { IncomingMessage } from 'node:http';
import busboy from 'busboy';
import {
  AppError,
  type FieldError,
  fieldError,
  invalidField,
  unknownField,
  validationFailed,
} from '../../platform/kernel/index.ts';
import { type Incoming, type ReceivedFile, tooLarge } from './incoming.ts';

export interface UploadForm extends ReceivedFile {
  filename: string | undefined;
  fields: Readonly<Record<string, string>>;
}

const noFile = () => new AppError('invalid_request', 'No file provided');

const FIELDS = ['preventSave', 'folder'];

const DRAINED = 16 * 1024 * 1024;
/**
 * Reads on and throws away, so that a client that is still sending gets to read its answer; one that does not end is
 * cut off.
 */
export function drainRequest(request: IncomingMessage): void {
  let size = 0;
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > DRAINED) request.destroy();
  });
  request.resume();
}

/** Reads a multipart body with one `file`, streaming it to disk. Nothing is kept after the first fault. */
export async function receiveUpload(
  request: IncomingMessage,
  incoming: Incoming,
  maxBytes: number,
): Promise<UploadForm> {
  try {
    return await readForm(request, incoming, maxBytes);
  } catch (error) {
    if (!request.readableEnded) drainRequest(request);
    throw error;
  }
}

async function readForm(request: IncomingMessage, incoming: Incoming, maxBytes: number): Promise<UploadForm> {
  if (!/^multipart\/form-data\s*;/i.test(request.headers['content-type'] ?? ''))
    throw new AppError('unsupported_media', 'Send the file as multipart/form-data in the field `file`');
  // the rest of the form is far smaller than that
  if (Number(request.headers['content-length']) > maxBytes + 65_536) throw tooLarge(maxBytes);
  const form = openForm(request, maxBytes);
  const fields: Record<string, string> = {};
  const errors: FieldError[] = [];
  let file: Promise<ReceivedFile> | undefined;
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
      if (!FIELDS.includes(name) || nameTruncated) errors.push(unknownField(name));
      else if (valueTruncated || Buffer.byteLength(value) > 255)
        errors.push(fieldError(name, 'at most 255 bytes', 'too_big'));
      else if (name === 'preventSave' && !['true', 'false', ''].includes(value))
        errors.push(fieldError(name, 'must be true or false', 'invalid_value'));
      else fields[name] = value;
    });
    form.on('file', (name, stream, info) => {
      if (name !== 'file') {
        errors.push(unknownField(name));
        stream.resume();
        return;
      }
      filename = info.filename;
      file = incoming.receive(stream, maxBytes);
      file.catch(stop);
    });
    for (const limit of ['filesLimit', 'fieldsLimit', 'partsLimit'] as const)
      form.on(limit, () => stop(invalidField('file', 'one file at a time', 'too_big')));
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
    throw error instanceof AppError
      ? error
      : new AppError('invalid_request', 'The multipart body cannot be read', {}, { cause: error });
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
