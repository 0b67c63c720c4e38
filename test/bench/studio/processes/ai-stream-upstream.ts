// The provider of the benchmark `ai-stream`: streams so many pieces of text as it was told, all at once, or after the
// first one when it is told to go on.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answering } from '../../kit/answering.ts';

let events = 1;
let held = 0;
const waiting: (() => void)[] = [];
let allWait = Promise.withResolvers<void>();

const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-5.4-mini' };
const textOf = (data: object) => `data: ${JSON.stringify({ ...head, ...data })}\n\n`;
const PIECE = textOf({ choices: [{ index: 0, delta: { role: 'assistant', content: 'word ' }, finish_reason: null }] });
const LAST = [
  textOf({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
  textOf({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 } }),
  'data: [DONE]\n\n',
].join('');

async function give(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(PIECE);
  const count = events;
  if (waiting.length < held) {
    const on = new Promise<void>((go) => waiting.push(go));
    if (waiting.length === held) allWait.resolve();
    await on;
  }
  for (let n = 1; n < count; n += 1) if (!response.write(PIECE)) await once(response, 'drain');
  response.end(LAST);
}
const server = createServer((request, response) => void request.resume().on('end', () => void give(response)));
server.listen(0, '127.0.0.1');

answering({
  address: async () => {
    if (!server.listening) await once(server, 'listening');
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  },
  give: (message: { events: number; held?: number }) => {
    ({ events, held = 0 } = message);
    allWait = Promise.withResolvers();
  },
  /** Ends when as many streams wait as are held. */
  waitForAll: () => allWait.promise,
  release: () => {
    held = 0;
    for (const go of waiting.splice(0)) go();
  },
});
