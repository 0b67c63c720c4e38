import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';

// Below what systems deal out to connections (from 32,768 on): such a port could be taken by one while the server that
// is to listen there still starts. Of each pair of ports the lower one is given away. The upper one is held for a
// minute by whoever was given it, so that no other process and no other test is given the same before the server
// listens.
const FIRST = 10_000;
const COUNT = 11_000;
const HELD_MS = 60_000;

/** The listening server, or undefined where the port is taken. */
const listening = (port: number) =>
  new Promise<Server | undefined>((done) => {
    const server = createServer().on('error', () => done(undefined));
    server.listen(port, '127.0.0.1', () => done(server));
  });
const closed = (server: Server) => new Promise((done) => void server.close(done));

/** Ports of 127.0.0.1 that are free at this moment and given to nobody else, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = randomInt(FIRST, FIRST + COUNT);
    const held = await listening(port + COUNT);
    if (!held) continue;
    const server = await listening(port);
    if (server) {
      await closed(server);
      ports.push(port);
      held.unref();
      setTimeout(() => held.close(), HELD_MS).unref();
    } else await closed(held);
  }
  return ports;
}

export const freePort = async (): Promise<number> => (await freePorts(1))[0]!;
