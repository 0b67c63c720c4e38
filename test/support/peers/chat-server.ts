import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { whole } from '../wire/wire.ts';

/** A question as it came over the wire, and what it costs. */
export interface ChatQuestion {
  headers: IncomingMessage['headers'];
  body: { model: string; stream?: boolean; messages: { role: string; content: unknown }[] };
  /** Of the answer; each question of a server has another number of them. */
  tokens: number;
  /** Resolves when the client has left before the answer ended. */
  left: Promise<unknown>;
}

/**
 * What a question is answered with in place of the pieces. `end`: why the model says that it stopped. `cut`: the
 * connection ends instead of an answer; `halved`: in the middle of one; `endless`: an answer that goes on and on.
 */
export type ChatReply =
  | { content: string; end?: string }
  | { status: number; headers?: Record<string, string>; body?: object }
  | Broken;
type Broken = 'cut' | 'halved' | 'endless';
const BROKEN: readonly unknown[] = ['cut', 'halved', 'endless'] satisfies Broken[];
export const isChatReply = (told: unknown): told is ChatReply =>
  BROKEN.includes(told) || (typeof told === 'object' && told !== null && ('content' in told || 'status' in told));

/** The texts of a question, in the order of its messages. */
export const textsOf = ({ body }: ChatQuestion): string[] =>
  body.messages.map(({ content }) =>
    typeof content === 'string' ? content : (content as { text?: string }[]).map(({ text = '' }) => text).join(''),
  );

/** A server that speaks the chat protocol of OpenAI, and charges each question once it has come. */
export interface ChatServer extends AsyncDisposable {
  url: string;
  /** Every question that was charged, in the order of their coming. */
  charged: ChatQuestion[];
  /** Runs before each answer, and before each piece of a stream but the first; it may answer what is to be said. */
  before: (question: ChatQuestion, piece: number) => unknown;
  /** The pieces of the next answers. */
  pieces: string[];
  /** Dollars that calls have cost, by their id, as hubs tell them at `/generation`; others are not known there. */
  costs: Map<string, number>;
  /** Headers of the questions for a cost. */
  costsAsked: IncomingMessage['headers'][];
}

function* endless(): Generator<string> {
  for (const piece = 'word '.repeat(20_000); ;) yield piece;
}

export async function startChatServer(): Promise<ChatServer> {
  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const chat: ChatServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    charged: [],
    before: () => undefined,
    pieces: ['Good ', 'day'],
    costs: new Map(),
    costsAsked: [],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };

  function costOf(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url!, chat.url);
    const cost = pathname === '/generation' ? chat.costs.get(searchParams.get('id') ?? '') : undefined;
    chat.costsAsked.push(request.headers);
    response.writeHead(cost === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify(cost === undefined ? { error: { message: 'unknown' } } : { data: { total_cost: cost } }),
    );
  }

  let asked = 0;
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'GET') return costOf(request, response);
    const body = JSON.parse((await whole(request)).toString()) as ChatQuestion['body'];
    const tokens = 100 + asked;
    asked += 1;
    const left = once(response, 'close');
    const question: ChatQuestion = { headers: request.headers, body, tokens, left };
    chat.charged.push(question);
    const told = await chat.before(question, 0);
    if (told === 'cut') return void request.socket.destroy();
    if (told === 'halved') {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1_000 });
      return void response.write('{"id": "chatcmpl-1"', () => request.socket.destroy());
    }
    if (told === 'endless') {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"id": "');
      return void pipeline(Readable.from(endless()), response).catch(() => undefined);
    }
    const reply = isChatReply(told) ? (told as Exclude<ChatReply, Broken>) : undefined;
    if (reply && 'status' in reply) {
      response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
      return void response.end(JSON.stringify(reply.body ?? { error: { message: 'not now' } }));
    }
    const usage = { prompt_tokens: 10, completion_tokens: tokens, total_tokens: 10 + tokens };
    const head = { id: 'chatcmpl-1', created: 1, model: body.model };
    const { pieces } = chat;
    if (!body.stream) {
      const message = { role: 'assistant', content: reply?.content ?? pieces.join('') };
      const choices = [{ index: 0, message, finish_reason: reply?.end ?? 'stop' }];
      response.writeHead(200, { 'content-type': 'application/json' });
      return void response.end(JSON.stringify({ ...head, object: 'chat.completion', choices, usage }));
    }
    const send = (data: object) =>
      response.write(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...data })}\n\n`);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const [n, content] of pieces.entries()) {
      if (n > 0) await chat.before(question, n);
      send({ choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }] });
    }
    send({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
    send({ choices: [], usage });
    response.end('data: [DONE]\n\n');
  }
  return chat;
}
