// Serves a page with the editor, bundled at the start. Prints its address; ends when its input does.
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const { outputFiles } = await build({
  entryPoints: [fileURLToPath(new URL('page.mjs', import.meta.url))],
  bundle: true,
  format: 'esm',
  write: false,
});
const PAGE = '<!doctype html><title>Editor</title><main></main><script type="module" src="/page.js"></script>';
const server = createServer(({ url }, response) => {
  const isScript = url === '/page.js';
  response.writeHead(200, { 'content-type': `${isScript ? 'text/javascript' : 'text/html'}; charset=utf-8` });
  response.end(isScript ? outputFiles[0].contents : PAGE);
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })}\n`));
process.stdin.resume();
process.stdin.on('end', () => process.exit());
