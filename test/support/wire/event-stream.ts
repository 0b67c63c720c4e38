import { eventually } from './eventually.ts';

/** An event as `EventSource` would hear it. */
export interface HeardEvent {
  event: string;
  id: string | undefined;
  data: any; // oxlint-disable-line typescript/no-explicit-any -- judged by each test
}

/** Opens a stream of server-sent events and reads it until it ends, or `close` leaves it. */
export async function openEventStream(
  url: string,
  { cookies, headers = {} }: { cookies: ReadonlyMap<string, string>; headers?: Record<string, string> },
) {
  const leave = new AbortController();
  const response = await fetch(url, {
    headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '), ...headers },
    signal: leave.signal,
  });
  const heard: HeardEvent[] = [];
  const comments: string[] = [];
  let ended = false;
  const reading = read();

  async function read(): Promise<void> {
    let text = '';
    try {
      for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
        text += piece;
        for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
          hear(text.slice(0, end).split('\n'));
          text = text.slice(end + 2);
        }
      }
    } catch {
      // it was left, or broke off
    } finally {
      ended = true;
    }
  }
  function hear(lines: readonly string[]): void {
    const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    const comment = field('');
    if (comment !== undefined) return void comments.push(comment);
    heard.push({ event: field('event')!, id: field('id'), data: JSON.parse(field('data')!) });
  }

  return {
    status: response.status,
    headers: response.headers,
    heard,
    comments,
    isEnded: () => ended,
    ended: () => eventually('the stream ends', () => ended),
    /** The next event that is not taken yet. */
    async next(): Promise<HeardEvent> {
      await eventually('an event comes', () => heard.length > 0);
      return heard.shift()!;
    },
    async close(): Promise<void> {
      leave.abort();
      await reading;
    },
    [Symbol.asyncDispose]() {
      return this.close();
    },
  };
}
export type EventStream = Awaited<ReturnType<typeof openEventStream>>;
