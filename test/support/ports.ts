import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';

// Below what systems deal out to connections (from 32,768 on): such a port could be taken by one while the server that is to listen there still starts.
const FIRST = 10_000;
const END = 32_000;

/** The listening server, or undefined where the port is taken. */
const listening = (port: number) =>
  new Promise<Server | undefined>((done) => {
    const server = createServer().on('error', () => done(undefined));
    server.listen(port, '127.0.0.1', () => done(server));
  });

/** Ports of 127.0.0.1 that are free at this moment, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const held: { port: number; server: Server }[] = [];
  while (held.length < count) {
    const port = randomInt(FIRST, END);
    const server = await listening(port);
    if (server) held.push({ port, server });
  }
  await Promise.all(held.map(({ server }) => new Promise((closed) => void server.close(closed))));
  return held.map(({ port }) => port);
}

export const freePort = async (): Promise<number> => (await freePorts(1))[0]!;
