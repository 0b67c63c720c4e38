import { randomId } from './random-id.ts';

/** Bytes of a file: whole, or as they come. */
export type Content = Blob | Uint8Array<ArrayBuffer> | AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>;

/** A body of multipart/form-data; `once` when it can be read a single time. */
export interface Form {
  body: BodyInit;
  headers: Record<string, string>;
  once: boolean;
  /** Why the source could not be read. */
  failure?: unknown;
}

/**
 * Browsers send a stream over HTTP/2 alone, or not at all, and say so only when it is too late: there it is collected.
 * Node, Deno and Bun send it over HTTP/1.1, too.
 */
const canSendStreams = () =>
  typeof (globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node === 'string';

/** As browsers write names of files in a form. */
const escaped = (name: string) => name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');

export async function formOf(content: Content, { name, type }: { name: string; type?: string }): Promise<Form> {
  if (content instanceof Blob || content instanceof Uint8Array) {
    const blob = content instanceof Blob && !type ? content : new Blob([content], { type: type ?? '' });
    return formWith(blob, name);
  }
  if (!canSendStreams()) {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    for await (const chunk of chunksOf(content)) parts.push(new Uint8Array(chunk));
    return formWith(new Blob(parts, { type: type ?? '' }), name);
  }
  const boundary = `rookery-${await randomId()}`;
  const head =
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${escaped(name)}"\r\n` +
    `Content-Type: ${type ?? 'application/octet-stream'}\r\n\r\n`;
  const form: Form = {
    body: '',
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    once: true,
  };
  const noted = (error: unknown) => void (form.failure = error);
  form.body = streamOf(framed(head, content, `\r\n--${boundary}--\r\n`), noted);
  return form;
}

function formWith(blob: Blob, name: string): Form {
  const body = new FormData();
  body.append('file', blob, name);
  return { body, headers: {}, once: false };
}

async function* framed(head: string, content: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>, tail: string) {
  const text = new TextEncoder();
  yield text.encode(head);
  yield* chunksOf(content);
  yield text.encode(tail);
}

/** By a reader: streams of some browsers cannot be iterated. */
async function* chunksOf(content: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>) {
  if (!('getReader' in content)) return yield* content;
  const reader = content.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Reads no faster than it is sent, and lets go of the source when sending ends early. */
function streamOf(chunks: AsyncGenerator<Uint8Array>, noted: (error: unknown) => void): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        noted(error);
        controller.error(error);
      }
    },
    async cancel() {
      await chunks.return(undefined);
    },
  });
}
