import { fileURLToPath } from 'node:url';
import type { Child } from './kit/child.ts';
import { type Figures, rounded } from './kit/figures.ts';
import { dayOf, DAYS, seedHistory, statementOfList } from './kit/history.ts';
import type { Options } from './kit/options.ts';
import { type Comparison, interleave, type Side } from './kit/pairs.ts';
import type { Report } from './kit/report.ts';
import { openRequestLoad, type Target } from './kit/requests.ts';
import { seedTenants, type Tenant } from './kit/seed.ts';
import { openWorld } from './kit/world.ts';
import { openSse } from '../support/wire/sse.ts';
import type { LoadRequest } from './request-load.ts';

const CALLERS = 32;
const ORGS = 32;
const PLACES = 8;
/** Posts of one answer. */
const LISTED = 30;
const CONNECTIONS = 8;
const HOST = fileURLToPath(new URL('./processes/mcp-host.ts', import.meta.url));
const TOOLS = fileURLToPath(new URL('../../api/mcp/tools.ts', import.meta.url));
/** The servers of the protocol's makers, each for its line. */
const SDK = 'McpServer, @modelcontextprotocol/sdk@1.32.2';
const NEXT = 'McpServer, @modelcontextprotocol/server@2.4.0';
const REVISION = { legacy: '2025-06-18', modern: '2026-07-28' } as const;
type Line = keyof typeof REVISION;

/** Legacy streams of one organization, and of all of them: as many as an organization may have. */
const STREAMS = 100;
const STREAMING = 10;

/**
 * `list_posts` and the list of tools on /mcp in both lines of the protocol, the same posts by the public API, and what a
 * legacy stream takes of the memory.
 */
export async function mcp(options: Options): Promise<Report> {
  const { quick, say } = options;
  await using world = await openWorld(options);
  const posts = options.size ?? (quick ? 500 : 3_000);
  const ms = quick ? 1_000 : 4_000;
  const database = await world.database();
  const tenants = await seedTenants(database.sql, { orgs: ORGS, channels: ORGS });
  await seedHistory(database, tenants, posts);
  say(`${posts} posts of each of ${ORGS} organizations, ${LISTED} in an answer`);
  const { url, apps } = await world.product(database);
  const product: Target = { url, pids: apps };
  const settings = {
    databaseUrl: database.url,
    connections: CONNECTIONS,
    tools: TOOLS,
    statement: await statementOfList(database, tenants[0]!),
  };
  const peerOf = async (line: Line): Promise<Target> => {
    const child = await world.peer('mcp.mjs', { ...settings, line });
    return { url: ((await child.ask({ do: 'listen', tenants })) as { url: string }).url, pids: [child.pid] };
  };
  const peers = { legacy: await peerOf('legacy'), modern: await peerOf('modern') };
  const load = openRequestLoad(world, CALLERS);

  const ranges = Array.from({ length: PLACES }, (_, n) => {
    const from = (n * DAYS * 0.8) / PLACES;
    return { startDate: dayOf(from).toISOString(), endDate: dayOf(from + (LISTED * DAYS) / posts).toISOString() };
  });
  const requests = tenants.flatMap((tenant) => ranges.map((range) => ({ tenant, range })));
  const calls = (line: Line, headers: (tenant: Tenant) => Record<string, string> = () => ({})) =>
    requests.map(({ tenant, range }) =>
      messageOf(line, tenant, 'tools/call', { name: 'list_posts', arguments: range }, headers(tenant)),
    );
  const lists = (line: Line, headers: (tenant: Tenant) => Record<string, string> = () => ({})) =>
    requests.map(({ tenant }) => messageOf(line, tenant, 'tools/list', {}, headers(tenant)));
  const rest = requests.map(({ tenant, range }): LoadRequest => ({
    path: `/public/v1/posts?${new URLSearchParams({ ...range, limit: '100' })}`,
    headers: { authorization: tenant.key },
  }));

  const measured = async (
    line: Line,
    target: Target,
    called: LoadRequest[],
    listed: LoadRequest[],
  ): Promise<Figures> => {
    const call = await load.closed(target, called, ms);
    const tools = await load.closed(target, listed, ms);
    return {
      [`${line}_calls_per_s`]: call.perSecond,
      [`${line}_cpu_ms_per_call`]: call.cpuMs,
      [`${line}_bytes_per_call`]: call.bytes,
      [`${line}_lists_per_s`]: tools.perSecond,
      [`${line}_bytes_per_list`]: tools.bytes,
    };
  };
  /** A process of its own for each time: memory that was needed once is not given back. */
  const streamed = async () => {
    await using host = world.script(HOST, { databaseUrl: database.url });
    return await memoryOfStreams(host, tenants.slice(0, STREAMING)); // the host must outlive it
  };
  const sessions = await sessionsOf(peers.legacy, tenants);
  const ofSession = (tenant: Tenant) => ({ 'mcp-session-id': sessions.get(tenant.key)! });
  const sides: Side[] = [
    {
      name: 'rookery',
      async run() {
        const read = await load.closed(product, rest, ms);
        return {
          ...(await measured('legacy', product, calls('legacy'), lists('legacy'))),
          ...(await measured('modern', product, calls('modern'), lists('modern'))),
          rest_per_s: read.perSecond,
          rest_cpu_ms_per_op: read.cpuMs,
          kb_per_stream: await streamed(),
        };
      },
    },
    { name: SDK, run: () => measured('legacy', peers.legacy, calls('legacy', ofSession), lists('legacy', ofSession)) },
    { name: NEXT, run: () => measured('modern', peers.modern, calls('modern'), lists('modern')) },
  ];
  const against = (line: Line, peer: string): Comparison[] => [
    { name: `calls, ${peer}`, figure: `${line}_calls_per_s`, peer, better: 'greater', goal: 1 },
    { name: `cpu of a call, ${peer}`, figure: `${line}_cpu_ms_per_call`, peer, better: 'smaller' },
    { name: `lists of tools, ${peer}`, figure: `${line}_lists_per_s`, peer, better: 'greater', goal: 5 },
  ];
  const { pairs, figures, ratios } = await interleave(
    sides,
    [...against('legacy', SDK), ...against('modern', NEXT)],
    options,
  );
  const own = figures['rookery']!;
  const beside = (line: Line) => ({
    name: `times that a call takes the processor, of the same by the public API, ${line}`,
    value: rounded(own[`${line}_cpu_ms_per_call`]! / own['rest_cpu_ms_per_op']!),
    most: 2,
  });
  return {
    bench: 'mcp',
    size: posts,
    pairs,
    skipped: [],
    figures,
    ratios,
    goals: [
      beside('legacy'),
      beside('modern'),
      { name: `kB of each of ${STREAMING * STREAMS} legacy streams`, value: own['kb_per_stream']!, most: 30 },
    ],
    settings: {
      orgs: ORGS,
      posts: `${posts} of each`,
      listed: LISTED,
      callers: CALLERS,
      connections: CONNECTIONS,
      revisions: REVISION,
      log: 'warn',
    },
    leavesOut: [
      'the peers have the same tools and the same statement, and no ladder, no scopes, no audit, no marks around texts of others; they know every key by heart',
      `${SDK} keeps a server for each caller, as its makers show; ${NEXT} makes one for each request`,
    ],
  };
}

/** What each stream takes of the memory of the product while all are open and none has a message, in kB. */
async function memoryOfStreams(host: Child, tenants: readonly Tenant[]): Promise<number> {
  const address = (await host.ask({ do: 'address' })) as string;
  const open = async ({ key, orgId }: Tenant) => {
    const stream = await openSse(`${address}/sse/${orgId}`, { authorization: key });
    await stream.next(); // it is known to the product
    return stream;
  };
  const used = async () => ((await host.ask({ do: 'use', isCollected: true })) as { rssMib: number }).rssMib;
  await using _first = await open(tenants[0]!); // what is loaded by the first one is not of each
  const before = await used();
  const opened = await Promise.all(
    tenants.flatMap((tenant, n) => Array.from({ length: n === 0 ? STREAMS - 1 : STREAMS }, () => open(tenant))),
  );
  const each = (((await used()) - before) * 1_024) / opened.length;
  await Promise.all(opened.map((stream) => stream[Symbol.asyncDispose]()));
  return rounded(each);
}

let lastId = 0;
/** A message as clients of that line send it. Its id is its own: a session answers two at once by their ids. */
function messageOf(
  line: Line,
  { key }: Tenant,
  method: string,
  params: { name?: string; [key: string]: unknown },
  headers: Record<string, string>,
): LoadRequest {
  const revision = REVISION[line];
  const meta = {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return {
    path: '/mcp',
    headers: {
      authorization: key,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': revision,
      ...(line === 'modern' && { 'mcp-method': method, ...(params.name !== undefined && { 'mcp-name': params.name }) }),
      ...headers,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: (lastId += 1),
      method,
      params: line === 'modern' ? { ...params, _meta: meta } : params,
    }),
  };
}

/** Greets the server of the first line for each tenant; answers the sessions by key. */
async function sessionsOf({ url }: Target, tenants: readonly Tenant[]): Promise<Map<string, string>> {
  const greeted = tenants.map(async (tenant): Promise<[string, string]> => {
    const greeting = {
      protocolVersion: REVISION.legacy,
      capabilities: {},
      clientInfo: { name: 'bench', version: '1' },
    };
    const { path, headers, body } = messageOf('legacy', tenant, 'initialize', greeting, {});
    const answer = await fetch(url + path, { method: 'POST', headers, body: body! });
    await answer.arrayBuffer();
    return [tenant.key, answer.headers.get('mcp-session-id')!];
  });
  return new Map(await Promise.all(greeted));
}
