// A native module fits the Node that compiled it only. The first Node here that can load what was installed is kept for the peer's start.
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';

const check = existsSync('node_modules/better-sqlite3') ? "new (require('better-sqlite3'))(':memory:')" : '0';
const candidates = [process.env['npm_node_execpath'], process.execPath, '/usr/bin/node', '/usr/local/bin/node'].filter(Boolean);
const fits = (node) => {
  try {
    execFileSync(node, ['-e', check], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};
const node = candidates.find(fits);
if (!node) throw new Error('better-sqlite3 was compiled, but no Node here can load it');
writeFileSync('node_modules/.node', node);
