import { tmpdir } from 'node:os';
import { freePorts } from '../wire/ports.ts';
import { goProgram } from './peer-install.ts';
import { type Found, startProcess } from './peers.ts';

/** It judges by the processor's own document, of the version before the one that the pinned SDK speaks. */
const VERSION = 'v0.203.0';

/**
 * The processor's own mock: stateless, and strict on every address and parameter. Built once where Go is there; Go
 * checks what it takes against its checksums.
 */
export async function stripeMockPeer(): Promise<Found> {
  const binary = await goProgram('github.com/stripe/stripe-mock', VERSION);
  return {
    async start() {
      const [http, https] = (await freePorts(2)) as [number, number];
      const url = `http://127.0.0.1:${http}`;
      const probe = async () => {
        await fetch(url);
        return { url };
      };
      return startProcess(
        'stripe-mock',
        binary,
        ['-http-addr', `127.0.0.1:${http}`, '-https-addr', `127.0.0.1:${https}`],
        { cwd: tmpdir(), probe },
      );
    },
  };
}
