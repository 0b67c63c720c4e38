import { describe, test } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { installPeer } from './peer-install.ts';
import { type Found, type Peer, startProcess } from './peer-process.ts';

export { type Found, type Peer, startProcess } from './peer-process.ts';

const reasonOf = (error: unknown) =>
  (error instanceof Error ? error.message.split('\n')[0]! : String(error)).slice(0, 300);

/** Tests of a real server. Without it they are skipped by name and counted; `PEERS_REQUIRED=1` makes that a failure. */
export async function describePeer(
  name: string,
  find: () => Promise<Found>,
  body: (found: { start(): Promise<Peer> }) => void,
): Promise<void> {
  const found = await find().catch((error: unknown): Found => ({ missing: reasonOf(error) }));
  if ('start' in found) return describe(`peer ${name}`, () => body(found));
  const why = `peer ${name} is missing: ${found.missing}`;
  if (process.env['PEERS_REQUIRED'] === '1') {
    describe(`peer ${name}`, () => {
      test('is there', () => {
        throw new Error(why);
      });
    });
    return;
  }
  process.stderr.write(`skipped: ${why}\n`);
  describe.skip(`peer ${name}`, () => body({ start: () => Promise.reject(new Error(why)) }));
}

/** Installs `test/peers/<name>` when that has not been done, and starts its `main.mjs`. */
export async function npmPeer(name: string): Promise<Found> {
  const folder = await installPeer(name);
  const node = await readFile(`${folder}/node_modules/.node`, 'utf8');
  return { start: () => startProcess(name, node, [`${folder}/main.mjs`], { cwd: folder }) };
}
