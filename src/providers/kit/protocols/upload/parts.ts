import { z } from 'zod';
import type { Body, LentMemory, RangedFile } from '../../declare/media.ts';
import type { Multipart } from '../multipart.ts';
import { type Ask, askUpload, bodyOfRange, countFaults, type Kept, refuseBegin, type UploadLine } from './steps.ts';

/** A part of a file; `index` counts from 0. */
export interface Part {
  index: number;
  from: number;
  to: number;
  /** Its bytes. */
  body: Body;
}

/** An upload in numbered parts, each of which can be sent again (X, LinkedIn). */
export interface PartsProtocol<U> {
  partBytes: number;
  /** Begins an upload; answers what its parts need, as plain JSON. */
  begin(): Promise<U>;
  /** Reads the same from the saved state. */
  handle: z.ZodType<U>;
  send(upload: U, part: Part): Ask;
  /** Reads the mark of a part, such as its ETag, from the answer with `status` beside the body. */
  mark: z.ZodType<string>;
}

/** `marks`: those of the parts so far. */
export interface UploadedParts<U> {
  upload: U;
  marks: readonly string[];
  complete: boolean;
}

/**
 * Uploads a file in parts, one after the other. A part is sent again after a fault; an upload that the server forgot is
 * begun anew. `parts`: greatest number of parts of this call. Throws `ProviderError`.
 */
export async function uploadParts<U>(
  line: UploadLine,
  protocol: PartsProtocol<U>,
  file: RangedFile,
  { saved, save, parts = Infinity }: Kept & { parts?: number },
): Promise<UploadedParts<U>> {
  const { partBytes } = protocol;
  const Handle = z.object({ upload: protocol.handle, marks: z.array(z.string()), begun: z.int().min(1) });
  const count = Math.ceil(file.size / partBytes);
  let handle = Handle.safeParse(saved).data as z.output<typeof Handle> | undefined;
  let begun = handle?.begun ?? 0;
  let left = parts;
  const faults = countFaults(line.clock);
  const memory: LentMemory = [];

  async function begin() {
    const upload = await protocol.begin();
    begun += 1;
    const fresh = { upload, marks: [], begun };
    await save(fresh);
    return fresh;
  }

  for (;;) {
    if (!handle) refuseBegin(begun);
    try {
      handle ??= await begin();
      const { upload, marks } = handle;
      const index = marks.length;
      if (index >= count || left <= 0) return { upload, marks, complete: index >= count };
      const range = { from: index * partBytes, to: Math.min((index + 1) * partBytes, file.size) };
      const part = { index, ...range, body: bodyOfRange(file, range, memory) };
      const mark = await askUpload(line, protocol.send(upload, part), protocol.mark);
      if (mark === undefined) {
        handle = undefined;
        continue;
      }
      faults.progress();
      left -= 1;
      handle = { ...handle, marks: [...marks, mark] };
      await save(handle);
    } catch (error) {
      await faults.wait(error);
    }
  }
}

/** An upload of one request: a form with the file as its last field, or without `field` the file as the whole body. */
export interface WholeUpload extends Omit<Ask, 'bytes' | 'multipart' | 'gone'> {
  fields?: Readonly<Record<string, string>>;
  /** Name of the field with the file. */
  field?: string;
}

/**
 * Uploads a file by one request to an address that stores it, such as a form of S3; sent again after a fault, since it
 * stores the same. An address that is not good any more is `rejected`. Throws `ProviderError`.
 */
export async function uploadWhole<S extends z.ZodType>(
  line: UploadLine,
  { method, path, field, fields = {}, ...ask }: WholeUpload,
  file: RangedFile,
  reply: S,
): Promise<z.output<S>> {
  const bytes = bodyOfRange(file, { from: 0, to: file.size });
  const multipart: Multipart | undefined =
    field === undefined ? undefined : { ...fields, [field]: { ...bytes, name: file.name } };
  const call = { timeoutMs: line.timeoutMs, ...ask, ...(multipart ? { multipart } : { bytes }) };
  const faults = countFaults(line.clock);
  for (;;) {
    try {
      return await line.http[method](path, reply, call);
    } catch (error) {
      await faults.wait(error);
    }
  }
}
