#!/usr/bin/env node
// The command: `node rookery.mjs <command>` or `./rookery.mjs <command>`. Hands over to rookery.ts on the Node that it is made for.
import { run } from './scripts/node24.mjs';

await run('rookery.ts', process.argv.slice(2));
