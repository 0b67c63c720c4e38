// A process of its own with the library over a folder: `node test/support/media-process.ts <database url> <folder>`.
// Says its address, and for each line that it reads the greatest amount of memory that it has had so far, in bytes.
import { createInterface } from 'node:readline';
import auth from '../../api/routes/auth.ts';
import files from '../../api/routes/files.ts';
import uploads from '../../api/routes/uploads.ts';
import user from '../../api/routes/user.ts';
import { openDatabase } from '../../src/db/index.ts';
import { openOutbound } from '../../src/outbound/index.ts';
import { testApp } from './app.ts';
import { testMedia } from './media.ts';

const [url, folder] = process.argv.slice(2) as [string, string];
const sql = openDatabase({ url });
const media = await testMedia({ sql, outbound: openOutbound({ timeoutMs: 5_000, allowedPrivateCidrs: [] }), folder, maxBytes: 2 ** 30 });
const app = await testApp({ sql, routes: [...auth, ...user, ...files, ...uploads], context: () => ({ media }) });
process.stdout.write(`${app.address}\n`);
for await (const _ of createInterface({ input: process.stdin })) process.stdout.write(`${process.resourceUsage().maxRSS * 1_024}\n`);
process.exit(0);
