// A personal data server with its directory on 127.0.0.1, and two accounts. Prints address and accounts; ends when its input does.
import net from 'node:net';

// its servers name no address; nobody outside this machine may reach them
const { listen } = net.Server.prototype;
net.Server.prototype.listen = function listenHere(...call) {
  const at = call[0] ?? {};
  const port = typeof at === 'object' ? at.port : at;
  return listen.call(this, { port: port ?? 0, host: '127.0.0.1' }, ...call.slice(1).filter((one) => typeof one === 'function'));
};

const { TestNetworkNoAppView } = await import('@atproto/dev-env');

const network = await TestNetworkNoAppView.create({ pds: {}, plc: {} });
const { url } = network.pds;

async function call(method, body, token) {
  const answer = await fetch(`${url}/xrpc/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${method}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

async function account(name) {
  const { did, handle, accessJwt } = await call('com.atproto.server.createAccount', { handle: `${name}.test`, email: `${name}@example.test`, password: `password of ${name}` });
  const { password } = await call('com.atproto.server.createAppPassword', { name: 'rookery' }, accessJwt);
  return { did, handle, password };
}

const accounts = { alice: await account('alice'), bob: await account('bob') };
process.stdout.write(`${JSON.stringify({ url, plc: network.plc.url, accounts })}\n`);

process.stdin.resume();
process.stdin.on('end', async () => {
  await network.close();
  process.exit();
});
