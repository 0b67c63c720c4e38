import { once } from 'node:events';
import type { OutgoingHttpHeader, ServerResponse } from 'node:http';
import { accepts } from './accept.ts';

/**
 * An event of a stream (HTML, server-sent events); `data` is sent as JSON, `line` as it is, and `id` is what a client says
 * when it comes again. A comment is heard by nobody and keeps the connection.
 */
export type ServerEvent =
  | { event: string; data: unknown; id?: string }
  | { event: string; line: string }
  | { comment: string };

/** Where the events go: a response whose head is not written yet. */
interface Answering {
  response: ServerResponse;
  headers: Record<string, OutgoingHttpHeader>;
}

/**
 * Says whether a client asks for events in place of one answer: by name, or, where they are what a route is for
 * (`isStream`), unless it names JSON.
 */
export const wantsEvents = (accept: string | undefined, isStream: boolean | 'always' = false): boolean =>
  isStream === 'always' || accepts(accept, 'text/event-stream') || (isStream && !accepts(accept, 'application/json'));

function textOf(sent: ServerEvent): string {
  if ('comment' in sent) return `: ${sent.comment}\n\n`;
  if ('line' in sent) return `event: ${sent.event}\ndata: ${sent.line}\n\n`;
  const { event, data, id } = sent;
  return `event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/**
 * Sends events as they come. What fails before the first one is thrown, to be answered as any refusal; what fails later
 * is the event `error`, whose data `refusal` writes, and is thrown once it was sent. `events` is told by its signal that
 * the client is gone, which is no failure.
 */
export async function sendEvents(
  { response, headers }: Answering,
  events: (gone: AbortSignal) => AsyncIterable<ServerEvent>,
  refusal: (error: unknown) => unknown,
): Promise<void> {
  const gone = new AbortController();
  const { signal } = gone;
  response.once('close', () => gone.abort());
  response.on('error', () => {}); // of a client that is gone
  /** Events that come in one turn of the process leave together, but for the first, which nobody waits longer for. */
  let left = '';
  const flush = () => {
    if (left !== '' && !signal.aborted) response.write(left);
    left = '';
  };
  try {
    for await (const event of events(signal)) {
      if (signal.aborted) return;
      if (!response.headersSent) {
        begin({ response, headers });
        response.write(textOf(event));
        continue;
      }
      if (left === '') setImmediate(flush);
      left += textOf(event);
      if (response.writableNeedDrain) await once(response, 'drain', { signal });
    }
  } catch (error) {
    if (signal.aborted) return;
    const last = left + textOf({ event: 'error', data: refusal(error) });
    left = '';
    // whoever hears of the failure ends the connection: not before the client was told
    if (response.headersSent) await new Promise<void>((told) => response.once('close', told).end(last, told));
    throw error;
  }
  response.end(left);
  left = '';
}

function begin({ response, headers }: Answering): void {
  headers['content-type'] = 'text/event-stream; charset=utf-8';
  headers['cache-control'] = 'no-store';
  headers['x-accel-buffering'] = 'no'; // a proxy in front must not collect them
  response.writeHead(200, headers);
}
