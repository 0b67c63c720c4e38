// The peer of the benchmark `ai-stream`: a program of node:http that reads the events of the provider and writes those
// of the product.
import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answering } from '../../kit/answering.ts';

const { upstream } = JSON.parse(process.argv[2]!) as { upstream: string };
const agent = new Agent({ keepAlive: true });
const eventOf = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

interface Chunk {
  model: string;
  choices: { delta: { content?: string } }[];
}

function proxy(asked: IncomingMessage, answer: ServerResponse): void {
  const onward = request(`${upstream}/chat/completions`, { method: 'POST', agent }, (response) => {
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    let left = '';
    let content = '';
    response.on('data', (piece: Buffer) => {
      const lines = (left + piece.toString()).split('\n\n');
      left = lines.pop()!;
      for (const line of lines) {
        if (line === 'data: [DONE]') {
          answer.end(eventOf('done', { content }));
          continue;
        }
        const { choices } = JSON.parse(line.slice('data: '.length)) as Chunk;
        const text = choices[0]?.delta.content;
        if (text === undefined) continue;
        content += text;
        answer.write(eventOf('text', { text }));
      }
    });
  });
  asked.pipe(onward);
}
const server = createServer(proxy).listen(0, '127.0.0.1');

answering({
  address: async () => {
    if (!server.listening) await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}/ai/text`, headers: { 'content-type': 'application/json' } };
  },
  use: () => {
    const { user, system } = process.cpuUsage();
    return { cpuMs: (user + system) / 1_000, rssMib: process.memoryUsage.rss() / 1_024 ** 2 };
  },
});
