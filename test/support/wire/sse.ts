/** An event of a stream. */
interface StreamedEvent {
  event: string;
  data: string;
}
/** A stream of server-sent events that a test reads one by one. */
export interface SseStream extends AsyncDisposable {
  next(): Promise<StreamedEvent>;
  /** Resolves when the server has ended it. */
  ended(): Promise<void>;
}

/** Opens a stream; a refusal is thrown with its status as the message. Comments are skipped. */
export async function openSse(url: string, headers: Record<string, string>): Promise<SseStream> {
  const gone = new AbortController();
  const response = await fetch(url, { headers: { accept: 'text/event-stream', ...headers }, signal: gone.signal });
  if (response.status !== 200) throw new Error(String(response.status));
  const parts = response.body!.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
  let read = '';
  async function block(): Promise<string | undefined> {
    for (let end = read.indexOf('\n\n'); ; end = read.indexOf('\n\n')) {
      if (end >= 0) {
        const whole = read.slice(0, end);
        read = read.slice(end + 2);
        return whole;
      }
      const { done, value } = await parts.next();
      if (done) return undefined;
      read += value;
    }
  }
  return {
    async next() {
      for (;;) {
        const lines = (await block())?.split('\n');
        if (lines === undefined) throw new Error('The stream has ended');
        const of = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
        const event = of('event');
        if (event !== undefined) return { event, data: of('data') ?? '' };
      }
    },
    async ended() {
      while ((await block()) !== undefined);
    },
    async [Symbol.asyncDispose]() {
      gone.abort();
    },
  };
}
