import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** One address in front of several: each connection goes to the next of them that takes it, as balancers of TCP do. */
export async function startBalancer() {
  const backends: string[] = [];
  const open = new Set<Socket>();
  let turn = 0;

  function pass(from: Socket, tries: number): void {
    const backend = backends[turn++ % backends.length];
    if (backend === undefined || tries === 0) return void from.destroy();
    const to = connect(Number(new URL(backend).port), '127.0.0.1');
    const refused = () => pass(from, tries - 1);
    to.once('error', refused);
    to.once('connect', () => {
      to.off('error', refused);
      open.add(to);
      for (const [one, other] of [
        [from, to],
        [to, from],
      ] as const) {
        // what was said last still arrives: an end is passed on, and no more than that
        one.on('error', () => undefined).on('close', () => (other.end(), open.delete(one)));
        one.pipe(other);
      }
    });
  }
  const server = createServer({ pauseOnConnect: true }, (from) => {
    open.add(from);
    from.on('error', () => undefined);
    pass(from, 3);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Where connections go, to be changed at any time. */
    backends,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
