// The whole product in a process of its own: `node test/support/processes/scripts/memory-process.ts`. Says its address, and for
// each line that it reads the greatest amount of memory that it has had so far, in bytes.
import { createInterface } from 'node:readline';
import { wholeProduct } from '../../worlds/product.ts';

const product = await wholeProduct();
process.stdout.write(`${product.address}\n`);
for await (const _ of createInterface({ input: process.stdin }))
  process.stdout.write(`${process.resourceUsage().maxRSS * 1_024}\n`);
await product[Symbol.asyncDispose]();
process.exit(0);
