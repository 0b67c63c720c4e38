// Clients of MCP by the libraries of its makers, on 127.0.0.1. Prints its address; ends when its input does.
// POST / {generation, transport, url, headers?, steps}  connects, does the steps and answers what each got, as JSON.
// POST /login {generation, url, redirect}               answers the addresses of the consent page: that to which the
//                                                       401 leads, and that for all scopes;
// POST /finish {state, code, iss, steps}                goes on from there.
import { auth as nextAuth, Client as NextClient, SSEClientTransport as NextSse, StreamableHTTPClientTransport as NextHttp } from '@modelcontextprotocol/client';
import { auth } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';

const NAME = { name: 'peer', version: '1.0.0' };
/** The first line of libraries, and the next one with the handshake of the first or without. */
const GENERATIONS = {
  first: { auth, client: () => new Client(NAME), http: StreamableHTTPClientTransport, sse: SSEClientTransport },
  next: { auth: nextAuth, client: () => new NextClient(NAME), http: NextHttp, sse: NextSse },
  modern: { client: () => new NextClient(NAME, { versionNegotiation: { mode: { pin: '2026-07-28' } } }), http: NextHttp },
};

const STEPS = {
  tools: async (client) => (await client.listTools()).tools,
  call: (client, params) => client.callTool(params),
  resources: async (client) => (await client.listResources()).resources,
  read: (client, params) => client.readResource(params),
  prompts: async (client) => (await client.listPrompts()).prompts,
  prompt: (client, params) => client.getPrompt(params),
};
const failure = (error) => ({ error: { name: error.constructor.name, code: error.code, message: String(error.message), data: error.data } });

/** Connects and does each step; what fails is answered in its place. */
async function run(client, transport, steps) {
  await client.connect(transport);
  const results = [];
  for (const { does, ...params } of steps) results.push(await STEPS[does](client, params).catch(failure));
  const answer = { server: client.getServerVersion(), instructions: client.getInstructions(), results };
  await client.close();
  return answer;
}

const logins = new Map();
/** Keeps what a login needs, and says where the browser should go. */
function providerOf(redirect, state) {
  const kept = {};
  return Object.assign(kept, {
    redirectUrl: redirect,
    clientMetadata: { redirect_uris: [redirect], client_name: 'Peer', grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], token_endpoint_auth_method: 'none', scope: 'mcp:read mcp:posts:write' },
    state: () => state,
    clientInformation: () => kept.client,
    saveClientInformation: (client) => void (kept.client = client),
    tokens: () => kept.saved,
    saveTokens: (tokens) => void (kept.saved = tokens),
    redirectToAuthorization: (url) => void (kept.to = url.href),
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier,
  });
}

const ROUTES = {
  '/': ({ generation, transport = 'http', url, headers = {}, steps }) => {
    const { client, [transport]: Transport } = GENERATIONS[generation];
    return run(client(), new Transport(new URL(url), { requestInit: { headers } }), steps);
  },
  '/login': async ({ generation, url, redirect }) => {
    const { client, http: Transport, auth: logIn } = GENERATIONS[generation];
    const state = randomBytes(16).toString('hex');
    const authProvider = providerOf(redirect, state);
    const transport = new Transport(new URL(url), { authProvider });
    const refused = await client().connect(transport).then(() => undefined, failure);
    logins.set(state, { generation, url, authProvider, transport });
    const asked = authProvider.to; // with the scope of the 401 alone
    await logIn(authProvider, { serverUrl: url, scope: 'mcp:read mcp:posts:write' });
    return { state, asked, to: authProvider.to, ...refused };
  },
  '/finish': async ({ state, code, iss, steps }) => {
    const { generation, url, authProvider, transport } = logins.get(state);
    const { client, http: Transport } = GENERATIONS[generation];
    await transport.finishAuth(generation === 'first' ? code : new URLSearchParams({ code, state, ...(iss && { iss }) }));
    return { ...(await run(client(), new Transport(new URL(url), { authProvider }), steps)), tokens: authProvider.saved };
  },
};

const server = createServer(async (request, response) => {
  try {
    const answer = await ROUTES[request.url](await json(request));
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answer));
  } catch (error) {
    response.writeHead(500).end(String(error.stack ?? error));
  }
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })}\n`);
});
process.stdin.resume().on('end', () => process.exit(0));
