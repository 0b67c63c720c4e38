// A simulator of Slack on 127.0.0.1 with one workspace. Prints its address; ends when its input does.
import { createEmulator } from 'emulate';
import { createServer } from 'node:http';

const redirect = 'https://rookery.example/integrations/social/slack';
const seed = {
  team: { name: 'Bakers', domain: 'bakers' },
  users: [{ name: 'ann', real_name: 'Ann Baker', email: 'ann@example.test' }],
  channels: [{ name: 'bread', topic: 'Bread' }],
  oauth_apps: [{ client_id: 'the-client', client_secret: 'the-app-secret', name: 'Rookery', redirect_uris: [redirect] }],
};
const slack = await createEmulator({ service: 'slack', port: 0, seed: { slack: seed } });
const { port } = new URL(slack.url);

// Slack takes each method by GET as well; this simulator by POST alone.
const front = createServer(async (request, response) => {
  const { pathname, search } = new URL(request.url, 'http://front');
  const { host: _, 'content-length': __, connection: ___, ...headers } = request.headers;
  const asForm = request.method === 'GET' && pathname.startsWith('/api/');
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const answer = await fetch(`http://127.0.0.1:${port}${pathname}${asForm ? '' : search}`, {
    redirect: 'manual',
    ...(asForm
      ? { method: 'POST', headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' }, body: search.slice(1) }
      : { method: request.method, headers, ...(pieces.length > 0 && { body: Buffer.concat(pieces) }) }),
  });
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain', ...(answer.headers.has('location') && { location: answer.headers.get('location') }) });
  response.end(Buffer.from(await answer.arrayBuffer()));
});
front.keepAliveTimeout = 0; // whoever asks closes the connection, so that none is closed under a request
front.listen(0, '127.0.0.1', () => process.stdout.write(`\n${JSON.stringify({ url: `http://127.0.0.1:${front.address().port}`, redirect })}\n`));

process.stdin.resume();
process.stdin.on('end', () => process.exit());
