import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePorts } from '../wire/ports.ts';
import { locked, peerEnv } from './peer-install.ts';
import { type Found, startProcess } from './peers.ts';

const run = promisify(execFile);
/** It judges by the processor's own document, of the version before the one that the pinned SDK speaks. */
const VERSION = 'v0.203.0';
const FOLDER = fileURLToPath(new URL(`../../../.cache/peers/stripe-mock-${VERSION}`, import.meta.url));
const BUILD_MS = 10 * 60_000;

/**
 * The processor's own mock: stateless, and strict on every address and parameter. Built once where Go is there; Go
 * checks what it takes against its checksums.
 */
export async function stripeMockPeer(): Promise<Found> {
  const binary = `${FOLDER}/stripe-mock`;
  await locked(FOLDER, async () => {
    if (existsSync(binary)) return;
    process.stderr.write('building peer stripe-mock (once)\n');
    const env = { ...peerEnv(), GOBIN: FOLDER };
    await run('go', ['install', `github.com/stripe/stripe-mock@${VERSION}`], { cwd: FOLDER, env, timeout: BUILD_MS });
  });
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
        { cwd: FOLDER, probe },
      );
    },
  };
}
