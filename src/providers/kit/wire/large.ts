import { z } from 'zod';
import type { Call } from './http.ts';

/**
 * Bytes of an answer, in a file of this machine until they are discarded: whoever holds one discards it, or hands it
 * on.
 */
export interface LargeFile {
  /** As the provider says; `application/octet-stream` where it does not. */
  contentType: string;
  /** In bytes. */
  size: number;
  /** Reads from the start; can be called again. A failure while reading is a `ProviderError`. */
  open(): AsyncIterable<Uint8Array>;
  /** Deletes the file; one that is gone already counts as deleted. */
  discard(): Promise<void>;
}

/** Milliseconds that one call of an operation may take, from the look-up of the name to the last byte. */
export const OPERATION_MS = { image: 180_000, speech: 120_000, submit: 60_000, poll: 30_000 } as const;

export interface LargeCall extends Call {
  /** `GET` for a result that is fetched. Default: `POST`. */
  method?: 'GET' | 'POST';
}

/**
 * Calls whose answer may be tens of megabytes: `http` with the same credentials and failures, but the answer is read
 * into files. A body of sound, pictures, videos or plain bytes reaches the schema as `file`; in one of JSON each text of
 * more than `FILE_CHARACTERS` in base64 is decoded into a file while it is read, and a `LargeFile` stands in its place.
 * `answerBytes` bounds what is left. The schema decides about the whole answer: files that its result does not hold are
 * deleted, and all of them when the call fails.
 */
export type Large = <S extends z.ZodType>(path: string, reply: S, call?: LargeCall) => Promise<z.output<S>>;

/** Longer texts of an answer are files, where they are base64. */
export const FILE_CHARACTERS = 65_536;

const isLargeFile = (value: unknown): value is LargeFile =>
  typeof value === 'object' && value !== null && 'discard' in value && 'open' in value;

const BASE64 = /^(?:data:([\w.+/-]+)(?:;[\w=.-]+)*;base64,)?([A-Za-z0-9+/_-]+={0,2})$/;
function smallFile(text: string, contentType: string): LargeFile | undefined {
  const [, type, base64 = ''] = BASE64.exec(text.replace(/\s+/g, '')) ?? [];
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length === 0) return undefined;
  return {
    contentType: type ?? contentType,
    size: bytes.length,
    async *open() {
      yield bytes;
    },
    async discard() {},
  };
}

/**
 * A field with bytes in base64, or a `data:` address of them, of any length. `contentType`: of bytes whose type is not
 * told.
 */
export const base64File = (contentType: string) =>
  z.unknown().transform((value, context): LargeFile => {
    const untyped = (file: LargeFile) => (file.contentType === UNTYPED ? { ...file, contentType } : file);
    const file = isLargeFile(value)
      ? untyped(value)
      : typeof value === 'string'
        ? smallFile(value, contentType)
        : undefined;
    if (file) return file;
    context.addIssue({ code: 'custom', message: 'is not base64' });
    return z.NEVER;
  });

/** The type of bytes about which nothing is said. */
export const UNTYPED = 'application/octet-stream';

/**
 * An answer that is bytes, of a kind such as `audio`. `contentType`: of bytes whose type the provider does not tell,
 * where it may be so; else such an answer is not understood.
 */
export const fileAnswer = (kind: 'image' | 'audio' | 'video', contentType?: string) =>
  z
    .custom<LargeFile>(isLargeFile)
    .refine((file) => file.contentType.startsWith(`${kind}/`) || (contentType && file.contentType === UNTYPED))
    .transform((file) => ({
      ...file,
      contentType: file.contentType === UNTYPED ? contentType! : file.contentType,
    }));
