// The servers of the protocol's makers with the tools of the product; `list_posts` reads by its statement, the others
// answer nothing. No ladder: keys are known by heart.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMcpHandler, McpServer as NextServer } from '@modelcontextprotocol/server';
import postgres from 'postgres';
import { answering, settings } from './answering.mjs';

const MOST = 101;
const sql = postgres(settings.databaseUrl, { max: settings.connections, onnotice() {} });
const { tools } = await import(settings.tools);
const orgs = new Map();

async function listPosts(orgId, { startDate, endDate }) {
  const rows = await sql.unsafe(settings.statement, [orgId, new Date(startDate), new Date(endDate), MOST], { prepare: true });
  const posts = rows.map((row) => ({
    id: row.id,
    publishDate: row.publishDate.toISOString(),
    state: row.state,
    content: row.content,
    group: row.group,
    integrationId: row.channelId,
    platform: row.providerId,
    integrationName: row.channelName,
  }));
  return { output: { posts }, nextCursor: null };
}

/** A server with every tool of the surface for publishing, under both of its names, for one organization. */
function serverOf(Server, orgId) {
  const server = new Server({ name: 'peer', version: '1.0.0' });
  for (const { name, alias, title, description, surfaces, scope, input, output } of tools) {
    if (!surfaces.includes('mcp')) continue;
    const hints = scope === 'mcp:read' ? { readOnlyHint: true } : { readOnlyHint: false, destructiveHint: true };
    const told = { title, description, inputSchema: input, outputSchema: output, annotations: { title, ...hints } };
    const run = async (given) => {
      const answer = name === 'list_posts' ? await listPosts(orgId, given) : {};
      return { content: [{ type: 'text', text: JSON.stringify(answer) }], structuredContent: answer };
    };
    for (const one of alias ? [name, alias] : [name]) server.registerTool(one, told, run);
  }
  return server;
}

const servers = {
  /** A server and a session for each caller. */
  legacy() {
    const sessions = new Map();
    return async (request, response, orgId, body) => {
      const known = sessions.get(request.headers['mcp-session-id']);
      if (known) return known.handleRequest(request, response, body);
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        enableJsonResponse: true,
        onsessioninitialized: (id) => void sessions.set(id, transport),
      });
      await serverOf(McpServer, orgId).connect(transport);
      return transport.handleRequest(request, response, body);
    };
  },
  /** A server for each request. */
  modern() {
    const handler = createMcpHandler(({ authInfo }) => serverOf(NextServer, authInfo.clientId), { legacy: 'reject', responseMode: 'json' });
    return async (request, response, orgId, body) => {
      const asked = new Request('http://mcp.invalid/mcp', { method: 'POST', headers: request.headers });
      const answer = await handler.fetch(asked, { authInfo: { token: '', clientId: orgId, scopes: [] }, parsedBody: body });
      const json = await answer.text();
      response.writeHead(answer.status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(json) }).end(json);
    };
  },
};

answering({
  async listen({ tenants }) {
    for (const { key, orgId } of tenants) orgs.set(key, orgId);
    const answer = servers[settings.line]();
    const server = createServer(async (request, response) => {
      const orgId = orgs.get(request.headers.authorization);
      if (orgId === undefined) return response.writeHead(401).end();
      try {
        await answer(request, response, orgId, JSON.parse(await text(request)));
      } catch (error) {
        response.writeHead(500).end(String(error.stack));
      }
    });
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    return { url: `http://127.0.0.1:${server.address().port}` };
  },
});
