// The peer of the benchmark `publish-file`: a program of node:http and node:fs that sends the same requests.
import { createReadStream } from 'node:fs';
import { Agent, request } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { answering } from '../../kit/answering.ts';
import { measured } from '../../kit/memory.ts';

interface Settings {
  path: string;
  bytes: number;
  partBytes: number;
  url: string;
}
const { path, bytes, partBytes, url } = JSON.parse(process.argv[2]!) as Settings;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

async function send(method: string, where: string, from: number, to: number, headers: Record<string, string> = {}) {
  const asked = request(url + where, {
    method,
    agent,
    headers: { 'content-type': 'video/mp4', 'content-length': String(to - from), ...headers },
  });
  const answered = new Promise<void>((done, failed) => {
    asked.on('response', (response) => response.resume().on('end', done).on('error', failed)).on('error', failed);
  });
  if (to > from)
    await pipeline(createReadStream(path, { start: from, end: to - 1, highWaterMark: 1024 * 1024 }), asked);
  else asked.end();
  await answered;
}
const ranges = Array.from({ length: Math.ceil(bytes / partBytes) }, (_, index) => ({
  index,
  from: index * partBytes,
  to: Math.min((index + 1) * partBytes, bytes),
}));
const UPLOADS = {
  async session() {
    await send('POST', '/begin', 0, 0);
    for (const { from, to } of ranges)
      await send('PUT', '/session', from, to, { 'content-range': `bytes ${from}-${to - 1}/${bytes}` });
  },
  async parts() {
    for (const { index, from, to } of ranges) await send('PUT', `/parts/${index}`, from, to);
  },
  whole: () => send('POST', '/whole', 0, bytes),
};

answering({
  send: ({ by }: { by: keyof typeof UPLOADS }) => measured(UPLOADS[by]),
});
