import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The bytes of one session of an upload. */
interface Session {
  bytes: Buffer;
  gone: boolean;
}

/**
 * A server that takes uploads in sessions, in the dialects of `Content-Range` with 308 (`/ranges`), with 206 and 201
 * (`/chunks`), and of an offset in a header (`/offset`). It keeps what it has got when the line is cut, and refuses
 * bytes that do not follow on it.
 */
export async function startUploadServer(size: number) {
  const sessions: Session[] = [];
  /** Numbers of bytes at which the line is cut, each once. */
  const cuts: number[] = [];
  const faults: string[] = [];
  const settings = { loseFrom: Infinity, dropLastAnswer: false };

  const firstOf = ({ headers }: IncomingMessage): number =>
    Number(headers['file_offset'] ?? /^bytes (\d+)-/.exec(headers['content-range'] ?? '')?.[1]);

  function answer(response: ServerResponse, dialect: string, { bytes }: Session): void {
    const whole = bytes.length === size;
    if (whole && settings.dropLastAnswer) {
      settings.dropLastAnswer = false;
      return void response.destroy();
    }
    const last = bytes.length - 1;
    const has = { range: `bytes=0-${last}`, 'content-range': `bytes 0-${last}/${size}` };
    const status = dialect === 'ranges' ? (whole ? 200 : 308) : dialect === 'chunks' ? (whole ? 201 : 206) : 200;
    response.writeHead(status, bytes.length > 0 ? has : {}).end(whole ? '{"id":"video-1"}' : '');
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, dialect = '', id] = request.url!.split('/');
    if (id === undefined) {
      sessions.push({ bytes: Buffer.alloc(0), gone: false });
      return void response.writeHead(201, { location: `${request.url}/${sessions.length - 1}` }).end('{}');
    }
    const session = sessions[Number(id)]!;
    if (session.gone) return void response.writeHead(404).end('no such session');
    if (request.method === 'GET') return void response.end(JSON.stringify({ received: session.bytes.length }));
    if (request.headers['content-range']?.startsWith('bytes */')) return answer(response, dialect, session);
    if (firstOf(request) !== session.bytes.length) faults.push(`${firstOf(request)} after ${session.bytes.length}`);
    for await (const piece of request) {
      if (session.gone) continue;
      session.bytes = Buffer.concat([session.bytes, piece as Buffer]);
      if (session.bytes.length >= settings.loseFrom) {
        session.gone = true;
        continue;
      }
      if (cuts.length === 0 || session.bytes.length < cuts[0]!) continue;
      session.bytes = session.bytes.subarray(0, cuts.shift());
      return void request.socket.destroy();
    }
    if (session.gone) response.writeHead(410).end();
    else answer(response, dialect, session);
  }

  const server = createServer(
    (request, response) => void serve(request, response).catch(() => request.socket.destroy()),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sessions,
    cuts,
    faults,
    settings,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
export type UploadServer = Awaited<ReturnType<typeof startUploadServer>>;
