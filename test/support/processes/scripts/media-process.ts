// A process of its own with the product over a folder: `node test/support/processes/scripts/media-process.ts <database url>
// <folder>`. Says its address, and for each line that it reads the greatest amount of memory that it has had so far, in
// bytes.
import { createInterface } from 'node:readline';
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { mediaApp } from '../../worlds/media.ts';

const [url, folder] = process.argv.slice(2) as [string, string];
const app = await mediaApp({ sql: openDatabase({ url }), folder, env: { MEDIA_UPLOAD_MAX_BYTES: String(2 ** 30) } });
process.stdout.write(`${app.address}\n`);
for await (const _ of createInterface({ input: process.stdin }))
  process.stdout.write(`${process.resourceUsage().maxRSS * 1_024}\n`);
process.exit(0);
