// Login providers on 127.0.0.1: a certified OpenID provider, doubles of Google and GitHub, a wallet, and a node of a chain. Prints their addresses; ends when its input does.
import { createServer } from 'node:http';
import { createEmulator } from 'emulate';
import { AbiCoder, getAddress, Interface, recoverAddress, Wallet } from 'ethers';
import Provider from 'oidc-provider';
import { SiweMessage } from 'siwe';

const FRONTEND = 'https://app.example.test';
const redirect = (id) => `${FRONTEND}/auth/callback/${id}`;
const listen = (server) => new Promise((done) => server.listen(0, '127.0.0.1', () => done(`http://127.0.0.1:${server.address().port}`)));

// The OpenID provider. The name that somebody logs in with says what is known of them.
const PEOPLE = {
  ann: { email: 'ann@example.test', email_verified: true, name: 'Ann Example' },
  bob: { email: 'bob@example.test', email_verified: false, name: 'Bob' },
  eve: { name: 'Eve' },
  odd: { email: 'not an address', email_verified: true, name: '<b>Odd</b>\r\nName' },
};
const front = createServer((request, response) => oidc(request, response));
const issuer = await listen(front);
const provider = new Provider(issuer, {
  clients: [
    { client_id: 'rookery', client_secret: 'the-secret-of-the-client', redirect_uris: [redirect('generic'), 'https://main.example.test/welcome'], token_endpoint_auth_method: 'client_secret_post' },
    { client_id: 'rookery-basic', client_secret: 'the:secret+of/basic', redirect_uris: [redirect('generic')], token_endpoint_auth_method: 'client_secret_basic' },
  ],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'picture'] },
  pkce: { required: () => true },
  findAccount: (_, id) => ({ accountId: id, claims: async () => ({ sub: id, ...(PEOPLE[id.split('-')[0]] ?? { email: `${id}@example.test`, email_verified: true, name: id }) }) }),
  features: { devInteractions: { enabled: true } },
  cookies: { keys: ['a key of a test'] },
});
provider.on('server_error', (_, error) => process.stderr.write(`${error.stack}\n`));
const oidc = provider.callback();

// Doubles of two brands.
const emulated = (service, seed) => createEmulator({ service, port: 0, seed: { [service]: seed } });
const client = { client_id: 'the-client', client_secret: 'the-secret-of-the-client', name: 'Rookery' };
const google = await emulated('google', { users: [{ email: 'gwen@example.test', name: 'Gwen' }], oauth_clients: [{ ...client, redirect_uris: [redirect('google')] }] });
const github = await emulated('github', { users: [{ login: 'gil', name: 'Gil', email: 'gil@example.test' }, { login: 'gus', name: 'Gus', email: 'gus@example.test' }], oauth_apps: [{ ...client, redirect_uris: [redirect('github')] }] });

// A wallet, and a chain on which a contract belongs to it and a registry knows some accounts.
const wallet = Wallet.createRandom();
const other = Wallet.createRandom();
const CONTRACT = '0x00000000000000000000000000000000c0ffee00';
const REGISTRY = '0x00000000fc6c5f01fc30151999387bb99a9f489b';
const abi = new Interface(['function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)', 'function idOf(address owner) view returns (uint256)']);
const fids = new Map([[wallet.address.toLowerCase(), 4242n], [CONTRACT, 77n]]);

function call(to, data) {
  const { name, args } = abi.parseTransaction({ data });
  if (name === 'idOf' && to.toLowerCase() === REGISTRY) return AbiCoder.defaultAbiCoder().encode(['uint256'], [fids.get(args[0].toLowerCase()) ?? 0n]);
  if (name === 'isValidSignature' && to.toLowerCase() === CONTRACT) {
    const hex = args[1].length === 134 ? args[1].slice(0, -2) : args[1]; // a byte of its own behind the signature of its owner
    const valid = recoverAddress(args[0], hex) === wallet.address;
    return AbiCoder.defaultAbiCoder().encode(['bytes4'], [valid ? '0x1626ba7e' : '0xffffffff']);
  }
  return '0x';
}
const rpc = (chainId, { id, method, params }) => {
  try {
    const result = method === 'eth_chainId' ? `0x${chainId.toString(16)}` : method === 'eth_call' ? call(params[0].to, params[0].data) : undefined;
    return result === undefined ? { jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } } : { jsonrpc: '2.0', id, result };
  } catch (error) {
    return { jsonrpc: '2.0', id, error: { code: 3, message: `execution reverted: ${error.message}` } };
  }
};
const ANSWERS = {
  '/message': (fields) => ({ message: new SiweMessage(fields).prepareMessage() }),
  '/sign': async ({ message, by }) => ({ signature: await (by === 'other' ? other : wallet).signMessage(message) }),
  '/rpc/1': (asked) => rpc(1, asked),
  '/rpc/10': (asked) => rpc(10, asked),
};
const web3 = await listen(
  createServer(async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const answer = await Promise.resolve(JSON.parse(Buffer.concat(pieces).toString()))
      .then(ANSWERS[request.url])
      .catch((error) => ({ error: `${error.message ?? error.error?.type}` }));
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  }),
);

process.stdout.write(
  `${JSON.stringify({ url: issuer, google: google.url, github: github.url, web3, address: wallet.address, otherAddress: other.address, contract: getAddress(CONTRACT) })}\n`,
);
process.stdin.resume();
process.stdin.on('end', () => process.exit());
