// The whole product in a process of its own: `node --expose-gc test/support/processes/scripts/cost-process.ts`. Says its
// address, and for each line that it reads the milliseconds of CPU that it has used so far, after the word `heap` the
// bytes of its heap behind a collection.
import { createInterface } from 'node:readline';
import { wholeProduct } from '../../worlds/product.ts';

const product = await wholeProduct({ level: 'error', sandbox: true });
process.stdout.write(`${product.address}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'heap') {
    product.answered.length = 0; // kept for tests: an error holds its request by the frames of its stack
    globalThis.gc!();
  }
  const { user, system } = process.cpuUsage();
  process.stdout.write(`${line === 'heap' ? process.memoryUsage().heapUsed : (user + system) / 1_000}\n`);
}
await product[Symbol.asyncDispose]();
process.exit(0);
