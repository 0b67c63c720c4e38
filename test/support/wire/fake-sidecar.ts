import { Server as GrpcServer, ServerCredentials } from '@grpc/grpc-js';
import { Agent, createServer, type IncomingHttpHeaders, request, type ServerResponse } from 'node:http';

interface Asked {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  response: ServerResponse;
  cut: boolean;
}
interface Reply {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** No host was asked: daprd answers by itself. */
  isByDaprd?: boolean;
}
/** What the fake answers; undefined leaves the request open, `'cut'` closes its socket. */
export type Answerer = (asked: Asked) => Reply | 'cut' | undefined | Promise<Reply | 'cut' | undefined>;

/** Daprd as far as the wire goes: what a process asks of its sidecar is recorded, and answered as the test says. */
export async function startFakeSidecar(answer: Answerer = () => ({ status: 204 })) {
  const asked: Asked[] = [];
  const registered: Buffer[] = [];
  const state = { answer, underWay: 0, mostUnderWay: 0, grpc: { code: 0, details: '' } };

  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => void chunks.push(chunk));
    const answered = async () => {
      const one: Asked = {
        method: incoming.method!,
        path: incoming.url!,
        headers: incoming.headers,
        body: Buffer.concat(chunks).toString(),
        response,
        cut: false,
      };
      const isHealth = /^\/v1\.0\/(healthz|metadata)/.test(one.path); // asked again and again, and no test is about it
      if (!isHealth) {
        asked.push(one);
        state.mostUnderWay = Math.max(state.mostUnderWay, ++state.underWay);
      }
      response.on('close', () => {
        one.cut = !response.writableFinished;
        if (!isHealth) state.underWay--;
      });
      const reply = isHealth ? { status: 204 } : await state.answer(one);
      if (reply === 'cut') return void response.destroy();
      if (!reply) return;
      const { status = 200, headers, body = '', isByDaprd = false } = reply;
      const ofHost = status === 200 && !isByDaprd ? { 'x-answer-bytes': `${Buffer.byteLength(body)}` } : {};
      response.writeHead(status, { ...ofHost, ...headers }).end(body);
    };
    incoming.on('end', () => void answered());
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));

  const grpc = new GrpcServer();
  const raw = (bytes: Buffer) => bytes;
  const definition = (name: string) => ({
    path: `/dapr.proto.runtime.v1.Dapr/${name}`,
    requestStream: false as const,
    responseStream: false as const,
    requestSerialize: raw,
    requestDeserialize: raw,
    responseSerialize: raw,
    responseDeserialize: raw,
  });
  grpc.addService(
    {
      RegisterActorReminder: definition('RegisterActorReminder'),
      UnregisterActorReminder: definition('UnregisterActorReminder'),
    },
    {
      RegisterActorReminder(call: { request: Buffer }, done: (error: object | null, answer?: Buffer) => void) {
        registered.push(call.request);
        if (state.grpc.code) done(state.grpc);
        else done(null, Buffer.alloc(0));
      },
      UnregisterActorReminder: (_call: object, done: (error: object | null, answer?: Buffer) => void) =>
        done(null, Buffer.alloc(0)),
    },
  );
  const grpcPort = await new Promise<number>((done, fail) =>
    grpc.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error ? fail(error) : done(port),
    ),
  );

  return {
    httpPort: (server.address() as { port: number }).port,
    grpcPort,
    asked,
    registered,
    state,
    async [Symbol.asyncDispose]() {
      grpc.forceShutdown();
      server.closeAllConnections();
      await new Promise((done) => void server.close(done));
    },
  };
}

/** Asks a host as daprd does. `leave` closes the socket as a cut does. */
export function askHost(
  port: number,
  method: string,
  path: string,
  { body = '', headers = {} }: { body?: string; headers?: Record<string, string> } = {},
) {
  const agent = new Agent({ keepAlive: false });
  const asked = request({ host: '127.0.0.1', port, method, path, headers, agent });
  const answer = new Promise<{ status: number; headers: IncomingHttpHeaders; text: string }>((done, fail) => {
    asked.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (more: string) => void (text += more));
      response.on('end', () => done({ status: response.statusCode!, headers: response.headers, text }));
    });
    asked.on('error', fail);
  });
  answer.catch(() => {});
  asked.end(body);
  return Object.assign(answer, { leave: () => void asked.destroy() });
}

/** The fields of a protobuf message by number, read without a schema: numbers for varints, bytes for the rest. */
export function fieldsOf(bytes: Buffer): Map<number, (number | Buffer)[]> {
  const fields = new Map<number, (number | Buffer)[]>();
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++]!;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const key = varint();
    let value: number | Buffer = varint();
    if ((key & 7) === 2) {
      const end = at + value;
      value = bytes.subarray(at, end);
      at = end;
    } else if ((key & 7) !== 0) throw new Error(`Wire type ${key & 7} is not expected here`);
    fields.set(key >> 3, [...(fields.get(key >> 3) ?? []), value]);
  }
  return fields;
}
