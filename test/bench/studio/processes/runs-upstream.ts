// The provider of the benchmark `runs`, in a process of its own: it answers each agent with an object, 200 ms after it
// was asked, and counts.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { answering } from '../../kit/answering.ts';

const AFTER_MS = 200;
let asked = 0;

/** What an agent is told first, and what a good model answers. */
const ANSWERS: readonly (readonly [string, object])[] = [
  ['You plan posts', { posts: [{ message: 'We launch on Monday', facts: [] }] }],
  ['You write posts', { texts: ['We launch on Monday. Come and see.'] }],
  ['You review drafts', { flags: [] }],
];
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request);
  asked += 1;
  const [, words] = ANSWERS.find(([told]) => body.includes(told))!;
  const usage = { prompt_tokens: 300, completion_tokens: 50, total_tokens: 350 };
  const choices = [{ index: 0, message: { role: 'assistant', content: JSON.stringify(words) }, finish_reason: 'stop' }];
  const said = { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'gpt-5.4-mini', choices, usage };
  setTimeout(() => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(said));
  }, AFTER_MS);
}
const server = createServer((request, response) => void answer(request, response));
server.listen(0, '127.0.0.1');

answering({
  address: async () => {
    if (!server.listening) await once(server, 'listening');
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  },
  asked: () => {
    const count = asked;
    asked = 0;
    return { count };
  },
});
