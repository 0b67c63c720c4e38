import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a receiver does with each piece of a body; `received` counts its bytes. */
type Take = (received: number) => number | 'never';

/**
 * A server that takes bodies slowly: after each piece it rests as many milliseconds as `take` says, or for ever. It
 * answers what was taken as a whole.
 */
export async function startSlowReceiver(
  take: Take,
  answer: (response: ServerResponse, bytes: number) => void = (response, bytes) => void response.end(String(bytes)),
) {
  const taken: number[] = [];
  const rests = new Set<NodeJS.Timeout>();
  const server = createServer((message, response) => {
    const n = taken.push(0) - 1;
    message.on('error', () => {}); // cut by the other side
    message.on('data', (piece: Buffer) => {
      taken[n]! += piece.length;
      const rest = take(taken[n]!);
      if (rest === 0) return;
      message.pause();
      if (rest === 'never') return;
      const timer = setTimeout(() => {
        rests.delete(timer);
        message.resume();
      }, rest);
      rests.add(timer);
    });
    message.on('end', () => answer(response, taken[n]!));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** The bytes taken of each body. */
    taken,
    async [Symbol.asyncDispose]() {
      for (const timer of rests) clearTimeout(timer);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
