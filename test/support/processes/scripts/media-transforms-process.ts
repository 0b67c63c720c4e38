// A process of its own that changes files, for tests that kill one: `node
// test/support/processes/scripts/media-transforms-process.ts <database url> <folder>`. It says `ready`, then works until it is
// killed.
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { mediaApp } from '../../worlds/media.ts';

const [url, folder] = process.argv.slice(2) as [string, string];
const { context } = await mediaApp({ sql: openDatabase({ url }), folder });
context.media.transforms.start();
process.stdout.write('ready\n');
