import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Outbound, OutboundRequest } from '../../../src/platform/outbound/index.ts';
import { answer, type Exchange, type Says, whole } from '../wire/wire.ts';

// Networks that take large files in ranges or parts. Their own server keeps what it has when the line is cut; what else
// is asked is answered as a fixture says, whatever the size of the file.

const ORIGIN = 'x-test-origin';
/** Servers keep ranges in multiples of this. */
const KEPT_BYTES = 256 * 1024;

/** A request to a network. */
interface Call {
  method: string;
  url: URL;
  headers: IncomingMessage['headers'];
  request: IncomingMessage;
}
/** What the network has of the one file of a test. */
export interface Stored {
  /** Number of uploads that were begun. */
  begun: number;
  /** Pieces by where they begin, or by their number. */
  pieces: Map<number, Buffer>;
  /** All bytes that came, also those that came twice. */
  came: number;
  /** Number of bytes after which the line is cut, once; then nothing is answered until `back`. */
  cutAt: number | undefined;
  away: boolean;
  faults: string[];
}
const sizeOf = ({ pieces }: Stored): number => [...pieces.values()].reduce((sum, { length }) => sum + length, 0);
/** The bytes in their order. */
export const bytesOf = ({ pieces }: Stored): Buffer =>
  Buffer.concat([...pieces].toSorted(([a], [b]) => a - b).map(([, piece]) => piece));

/** Takes a body; undefined where the line was cut in it. `keeps`: what came before the cut stays. */
async function take(stored: Stored, { request }: Call, keeps?: { from: number }): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  let read = 0;
  const before = sizeOf(stored);
  for await (const piece of request as AsyncIterable<Buffer>) {
    pieces.push(piece);
    read += piece.length;
    stored.came += piece.length;
    if (stored.cutAt === undefined || before + read < stored.cutAt) continue;
    const kept = Math.floor((stored.cutAt - before) / KEPT_BYTES) * KEPT_BYTES;
    if (keeps && kept > 0) stored.pieces.set(keeps.from, Buffer.concat(pieces).subarray(0, kept));
    stored.cutAt = undefined;
    stored.away = true;
    request.socket.destroy();
    return undefined;
  }
  return Buffer.concat(pieces);
}
/** Takes a range that must follow on what is there. */
async function takeRange(stored: Stored, call: Call, from: number): Promise<boolean> {
  if (from !== sizeOf(stored)) stored.faults.push(`a range from ${from} after ${sizeOf(stored)} bytes`);
  const bytes = await take(stored, call, { from });
  if (bytes) stored.pieces.set(from, bytes);
  return bytes !== undefined;
}
/** Takes a form with one file in it. */
async function takeForm(
  stored: Stored,
  call: Call,
): Promise<{ field(name: string): string; file: Buffer } | undefined> {
  const bytes = await take(stored, call);
  if (!bytes) return undefined;
  const type = { headers: { 'content-type': call.headers['content-type']! } };
  const form = await new Response(new Uint8Array(bytes), type).formData();
  const file = [...form.values()].find((value) => typeof value !== 'string');
  return { field: (name) => String(form.get(name)), file: Buffer.from(await file!.arrayBuffer()) };
}

/** What a network does with a file. `serve` answers undefined to what its fixture answers, and `cut` where the line was. */
export interface UploadNetwork {
  id: string;
  /** The name of the case of `publish` with a video. */
  of: string;
  /** Bytes of the file, and of the most that may come again after a cut. */
  size: number;
  partBytes: number;
  serve(stored: Stored, call: Call, size: number): Promise<Says | 'cut' | undefined>;
  /** The request that begins an upload, where `serve` does not count it. */
  begins?: RegExp;
}

const MIB = 1024 * 1024;
const rangeFrom = ({ headers }: Call) => Number(/^bytes (\d+)-/.exec(headers['content-range'] ?? '')?.[1] ?? NaN);
/** The step of an upload to Facebook. */
const phaseOf = async ({ request }: Call) =>
  (JSON.parse((await whole(request)).toString()) as { upload_phase: string }).upload_phase;
const has = (stored: Stored) => (sizeOf(stored) > 0 ? { range: `bytes=0-${sizeOf(stored) - 1}` } : {});

/** Ranges to a session, answered by 308 until the last one. */
async function ranges(stored: Stored, call: Call, size: number): Promise<Says | 'cut' | undefined> {
  if (call.method !== 'PUT' || !call.url.searchParams.has('upload_id')) return undefined;
  const from = rangeFrom(call);
  if (!Number.isNaN(from) && !(await takeRange(stored, call, from))) return 'cut';
  return sizeOf(stored) < size ? { status: 308, headers: has(stored) } : undefined;
}

export const UPLOAD_NETWORKS: readonly UploadNetwork[] = [
  {
    id: 'youtube',
    of: 'video',
    size: 17 * MIB + 5,
    partBytes: 8 * MIB,
    begins: /^POST \/upload\/youtube\/v3\/videos\?/,
    serve: ranges,
  },
  {
    id: 'peertube',
    of: 'video',
    size: 17 * MIB + 5,
    partBytes: 8 * MIB,
    begins: /^POST \/api\/v1\/videos\/upload-resumable/,
    serve: ranges,
  },
  {
    id: 'tiktok',
    of: 'video',
    size: 25 * MIB + 5,
    partBytes: 8 * MIB,
    begins: /^POST \/v2\/post\/publish\/video\/init\//,
    async serve(stored, call, size) {
      if (call.url.pathname.endsWith('/status/fetch/') && sizeOf(stored) < size)
        return {
          json: { data: { status: 'PROCESSING_UPLOAD', uploaded_bytes: sizeOf(stored) }, error: { code: 'ok' } },
        };
      if (call.method !== 'PUT') return undefined;
      if (!(await takeRange(stored, call, rangeFrom(call)))) return 'cut';
      const range = { 'content-range': `bytes 0-${sizeOf(stored) - 1}/${size}` };
      return sizeOf(stored) < size ? { status: 206, headers: range } : { status: 201, headers: range };
    },
  },
  {
    id: 'facebook',
    of: 'video',
    size: 5 * MIB + 5,
    partBytes: 2 * MIB,
    async serve(stored, call, size) {
      const next = () => ({
        start_offset: String(sizeOf(stored)),
        end_offset: String(Math.min(sizeOf(stored) + 2 * MIB, size)),
      });
      if (!call.url.hostname.startsWith('graph-video')) return undefined;
      if (call.headers['content-type']?.startsWith('multipart/')) {
        const form = await takeForm(stored, call);
        if (!form) return 'cut';
        const from = Number(form.field('start_offset'));
        if (from !== sizeOf(stored)) stored.faults.push(`a chunk from ${from} after ${sizeOf(stored)} bytes`);
        stored.pieces.set(from, form.file);
        return { json: next() };
      }
      if ((await phaseOf(call)) !== 'start') return { json: { success: true } };
      stored.begun += 1;
      return { json: { upload_session_id: 's1', video_id: '77', ...next() } };
    },
  },
  {
    id: 'facebook',
    of: 'reel',
    size: 5 * MIB + 5,
    partBytes: 5 * MIB + 5,
    async serve(stored, call) {
      if (call.method === 'GET' && call.url.search === '?fields=status') {
        const uploading_phase = { status: 'in_progress', bytes_transferred: sizeOf(stored) };
        return { json: { id: '77', status: { video_status: 'processing', uploading_phase } } };
      }
      if (call.url.pathname.endsWith('/video_reels') && (await phaseOf(call)) === 'start') {
        stored.begun += 1;
        return { json: { video_id: '77' } };
      }
      if (!call.url.hostname.startsWith('rupload')) return undefined;
      return (await takeRange(stored, call, Number(call.headers['offset']))) ? { json: { success: true } } : 'cut';
    },
  },
  {
    id: 'x',
    of: 'video',
    size: 9 * MIB + 5,
    partBytes: 4 * MIB,
    begins: /^POST \/2\/media\/upload\/initialize/,
    async serve(stored, call) {
      if (!call.url.pathname.endsWith('/append')) return undefined;
      const form = await takeForm(stored, call);
      if (!form) return 'cut';
      stored.pieces.set(Number(form.field('segment_index')), form.file);
      return { json: { data: { expires_at: 1 } } };
    },
  },
  {
    id: 'linkedin',
    of: 'video',
    size: 9 * MIB + 5,
    partBytes: 4 * MIB,
    begins: /^POST \/rest\/videos\?action=initializeUpload/,
    async serve(stored, call, size) {
      if (call.url.search === '?action=initializeUpload') {
        const uploadInstructions = Array.from({ length: Math.ceil(size / (4 * MIB)) }, (_, n) => ({
          uploadUrl: `https://www.linkedin.com/dms-uploads/sp/v2/1?part=${n}`,
          firstByte: n * 4 * MIB,
          lastByte: Math.min((n + 1) * 4 * MIB, size) - 1,
        }));
        return { json: { value: { video: 'urn:li:video:V1', uploadToken: 'the-upload', uploadInstructions } } };
      }
      if (call.method !== 'PUT') return undefined;
      const bytes = await take(stored, call);
      if (!bytes) return 'cut';
      const part = Number(call.url.searchParams.get('part'));
      stored.pieces.set(part, bytes);
      return { headers: { etag: `e${part}` } };
    },
  },
];

/** The Internet with one such network in it: the way out of the product ends there. */
export async function startUploadNetwork(real: Outbound) {
  let network: UploadNetwork | undefined;
  let told: readonly Exchange[] = [];
  const stored = { begun: 0, pieces: new Map(), came: 0, cutAt: undefined, away: false, faults: [] } as Stored;

  /** What the fixture answers to this method and path: at the end, where it answers several things. */
  const toldOf = ({ method, url }: Call): Says | undefined => {
    const isSame = ({ asks }: Exchange) => {
      const { origin, pathname, searchParams } = new URL(asks.url);
      const [own, given] = [searchParams, url.searchParams].map((query) => query.get('action'));
      return asks.method === method && origin + pathname === url.origin + url.pathname && own === given;
    };
    return told.findLast(isSame)?.says;
  };
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (stored.away || !network) return void request.socket.destroy();
    const { method = '', headers } = request;
    const url = new URL(String(headers[ORIGIN]) + request.url!);
    const call = { method, url, headers, request };
    const says = await network.serve(stored, call, network.size);
    if (says === 'cut') return;
    await whole(request); // what is left of it
    if (network.begins?.test(`${method} ${url.pathname}${url.search}`)) stored.begun += 1;
    const answered = says ?? toldOf(call);
    if (!answered) stored.faults.push(`${method} ${url.href}`);
    answer(response, answered ?? { status: 501 });
  }

  const server = createServer(
    (request, response) => void serve(request, response).catch(() => request.socket.destroy()),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const turned =
    <R>(send: (url: string, request: OutboundRequest) => Promise<R>) =>
    (given: string, request: OutboundRequest = {}): Promise<R> => {
      const { origin, pathname, search } = new URL(given);
      return send(address + pathname + search, { ...request, headers: { ...request.headers, [ORIGIN]: origin } });
    };
  return {
    outbound: { ...real, fetch: turned(real.fetch), stream: turned(real.stream) } satisfies Outbound,
    /** Begins a test: the line is cut after so many bytes. */
    plays(one: UploadNetwork, exchanges: readonly Exchange[], cutAt: number): Stored {
      [network, told] = [one, exchanges];
      Object.assign(stored, { begun: 0, pieces: new Map(), came: 0, cutAt, away: false, faults: [] });
      return stored;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
