import { parseSync } from '@swc/core';
import { describe, expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';

// What the program's own text must not hold. Each rule is tried on a planted fault first: one that finds nothing there
// proves nothing.

const filesOf = (folder: string, ends: RegExp): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => ends.test(file))
    .map((file) => `${folder}/${file}`);

interface Node {
  type: string;
  [key: string]: unknown;
}
const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';
function* nodes(value: unknown): Generator<Node> {
  if (Array.isArray(value)) for (const one of value) yield* nodes(one);
  else if (typeof value === 'object' && value !== null) {
    if (isNode(value)) yield value;
    for (const one of Object.values(value)) yield* nodes(one);
  }
}
const parse = (text: string): readonly Node[] => [
  ...nodes(parseSync(text, { syntax: 'typescript', target: 'es2024' })),
];
const tree = (...folders: string[]): Map<string, readonly Node[]> =>
  new Map(
    folders
      .flatMap((folder) => filesOf(folder, /\.(ts|js)$/))
      .filter((file) => !file.endsWith('.test.ts') && !file.includes('node_modules'))
      .map((file) => [file, parse(readFileSync(file, 'utf8'))]),
  );

const product = tree('src', 'api', 'actors', 'sandbox');
const pages = tree('api/console');

/** `a.b` or `a` of a callee. */
const nameOf = (node: unknown): string => {
  if (!isNode(node)) return '';
  if (node.type === 'Identifier' || node.type === 'PrivateName') return String(node['value']);
  if (node.type === 'MemberExpression') return `${nameOf(node['object'])}.${nameOf(node['property'])}`;
  if (node.type === 'CallExpression') return `${nameOf(node['callee'])}()`;
  return '';
};
const argument = (node: Node, n: number): Node | undefined => {
  const one = (node['arguments'] as { expression: Node }[] | undefined)?.[n]?.expression;
  return isNode(one) ? one : undefined;
};
const isCall = (node: Node) => node.type === 'CallExpression' || node.type === 'NewExpression';
type Rule = (node: Node) => boolean;
const found = (rule: Rule, files: Map<string, readonly Node[]> = product): string[] =>
  [...files].filter(([, all]) => all.some(rule)).map(([file]) => file);
/** Each planted line must be caught. */
const catches = (rule: Rule, ...planted: string[]) =>
  expect(planted.filter((line) => !parse(line).some(rule))).toEqual([]);

test('the whole program is read', () => {
  expect(product.size).toBeGreaterThan(300);
  expect(pages.size).toBeGreaterThan(2);
});

test('no text is run as a program', () => {
  const rule: Rule = (node) =>
    (isCall(node) &&
      ['eval', 'Function', 'vm.runInNewContext', 'vm.runInThisContext', 'vm.Script'].includes(
        nameOf(node['callee']),
      )) ||
    (isCall(node) &&
      /^(setTimeout|setInterval)$/.test(nameOf(node['callee'])) &&
      ['StringLiteral', 'TemplateLiteral'].includes(argument(node, 0)?.type ?? '')) ||
    (node.type === 'ImportDeclaration' && /^(node:)?vm$/.test(String((node['source'] as Node)['value'])));
  catches(rule, 'eval(x)', 'new Function(x)', 'setTimeout(`x`, 1)', "import vm from 'node:vm'");
  expect(found(rule)).toEqual([]);
});

test('chance comes from the system’s generator [X10]', () => {
  const rule: Rule = (node) => nameOf(node) === 'Math.random' || nameOf(node) === 'crypto.pseudoRandomBytes';
  catches(rule, 'const a = Math.random()', 'const b = [Math.random]');
  expect(found(rule)).toEqual([]);
  const small: Rule = (node) => {
    const size = argument(node, 0);
    return (
      isCall(node) &&
      /^random(Bytes|Hex|Base64url)$/.test(nameOf(node['callee'])) &&
      size?.type === 'NumericLiteral' &&
      Number(size['value']) < 16
    );
  };
  catches(small, 'randomBytes(8)', 'randomHex(15)');
  expect(found(small)).toEqual(['src/operations/cli/demo-account.ts']); // the address of the demo’s account
});

test('SQL takes values as parameters only', () => {
  const rule: Rule = (node) => isCall(node) && /(^|\.)unsafe$/.test(nameOf(node['callee']));
  catches(rule, 'sql.unsafe(text)', 'tx.unsafe(`select ${x}`)');
  // whole files of our own; names of columns that are declared in code
  expect(found(rule)).toEqual(['src/platform/db/migrate.ts', 'src/platform/db/table.ts']);
});

test('programs are started without a shell', () => {
  const rule: Rule = (node) =>
    (isCall(node) && /^(exec|execSync)$/.test(nameOf(node['callee']))) ||
    (node.type === 'KeyValueProperty' && nameOf(node['key']) === 'shell' && (node['value'] as Node)['value'] !== false);
  catches(rule, 'exec("ls " + x)', 'execSync(`ls ${x}`)', 'spawn("ls", [x], { shell: true })');
  expect(found(rule)).toEqual([]);
});

test('no pattern is made of what people type', () => {
  const rule: Rule = (node) =>
    isCall(node) && nameOf(node['callee']) === 'RegExp' && argument(node, 0)?.type !== 'StringLiteral';
  catches(rule, 'new RegExp(x)', 'RegExp(`^${x}`)');
  expect(found(rule)).toEqual([
    'src/providers/registry/rules.ts', // the form that an adapter declares for its field
    'src/publishing/posts/authoring/follow-ups.ts', // and for those of its plugs
    'api/mcp/resources.ts', // the addresses that it declares
    'api/http/openapi/examples.ts', // the form that a route declares
  ]);
});

test('hashes are of today: SHA-256 and better', () => {
  const rule: Rule = (node) =>
    isCall(node) &&
    /^(createHash|createHmac|hash|createSign|createVerify|sign|verify)$/.test(nameOf(node['callee'])) &&
    /^(rsa-)?(md|sha-?1|rip)/i.test(String(argument(node, 0)?.['value']));
  catches(
    rule,
    "createHash('md5')",
    "createHmac('sha1', key)",
    "hash('SHA1', x)",
    "verify('sha1', text, key, given)",
    "createVerify('RSA-SHA1')",
  );
  expect(found(rule)).toEqual([
    'src/providers/kit/protocols/oauth1.ts', // HMAC-SHA1, the signature that X takes of OAuth 1.0a
    'src/providers/kit/wire/s3-client.ts', // a checksum that some storages ask for in Content-MD5; it protects nothing
  ]);
});

describe('calls to others go out through the guard', () => {
  /**
   * Modules that open connections, and who may load them: servers, the guard itself, and what calls the operator's own
   * machines.
   */
  const LINES =
    /^(node:)?(http|https|http2|net|tls|dgram|dns|dns\/promises|undici|ws|@grpc\/grpc-js|ioredis|postgres|pg|nodemailer|openid-client|stripe|@dapr\/dapr|@aws-sdk\/[\w-]+)$/;
  /** Of these modules, what connects to nobody. */
  const STILL = /^(isIP|isIPv4|isIPv6|STATUS_CODES|rootCertificates|validateHeaderName|validateHeaderValue)$/;
  const MAY: readonly [RegExp, string][] = [
    [/^src\/platform\/outbound\//, 'the guard'],
    [
      /^(api\/(main|collaboration\/server)|sandbox\/server|src\/platform\/telemetry\/listener|src\/operations\/cli\/receiver)\.ts$/,
      'listens',
    ],
    [/^src\/(operations\/cli\/start|platform\/db\/embedded\/index)\.ts$/, 'looks for a free port'],
    [/^src\/operations\/cli\/call\.ts$/, 'the commands, which call the service they belong to'],
    [/^src\/platform\/actor-runtime\/dapr\//, 'the sidecar and the hosts of the cluster'],
    [/^src\/delivery\/neighbours\/publish\.ts$/, 'the sidecar'],
    [/^src\/platform\/(cache\/(redis|redis-channels|byte-channels)|db\/\w+)\.ts$/, 'the stores'],
    [/^src\/billing\/processor\/stripe\//, 'the processor of payments, at its own address'],
    [/^src\/providers\/kit\/wire\/open-smtp\.ts$/, 'the mail server of the operator; organizations have none'],
    [/^src\/providers\/kit\/(wire\/open-s3|protocols\/openid)\.ts$/, 'libraries that are given the guarded call'],
  ];
  const sourceOf = (node: Node): string => {
    if (
      node.type === 'ImportDeclaration' ||
      node.type === 'ExportNamedDeclaration' ||
      node.type === 'ExportAllDeclaration'
    ) {
      const names =
        (node['specifiers'] as { isTypeOnly?: boolean; imported?: Node | null; local?: Node }[] | undefined) ?? [];
      const still = names.every(
        ({ isTypeOnly, imported, local }) => isTypeOnly === true || STILL.test(nameOf(imported ?? local)),
      );
      return node['typeOnly'] === true || (names.length > 0 && still) || !isNode(node['source'])
        ? ''
        : String(node['source']['value']);
    }
    const loads =
      node.type === 'CallExpression' &&
      ((node['callee'] as Node).type === 'Import' ||
        /^(require|createRequire\(\)|process\.getBuiltinModule)$/.test(nameOf(node['callee'])));
    if (!loads) return '';
    const name = argument(node, 0);
    return name?.type === 'StringLiteral' ? String(name['value']) : 'unknown';
  };

  test('modules that open connections are loaded by few files, each for a reason [OB1]', () => {
    const rule: Rule = (node) => LINES.test(sourceOf(node)) || sourceOf(node) === 'unknown';
    catches(
      rule,
      "import { request } from 'node:https'",
      "import { request } from 'http'",
      "import { type Socket, connect } from 'node:net'",
      "export { request } from 'undici'",
      "export * from 'node:tls'",
      "const a = await import('nodemailer')",
      "const b = await import('@aws-sdk/client-s3')",
      "const c = require('node:dgram')",
      "const d = process.getBuiltinModule('net')",
      'const e = await import(name)',
    );
    expect(
      ['import type { Socket } from "node:net"', 'import { type Socket, isIP } from "node:net"'].filter((line) =>
        parse(line).some(rule),
      ),
    ).toEqual([]);
    expect(found(rule).filter((file) => !MAY.some(([files]) => files.test(file)))).toEqual([]);
  });

  test('no call of the platform’s own is made, and no library is left to make its own [OB1]', () => {
    const CALLS = /^((globalThis|global|window|self)\.)?(fetch|WebSocket|EventSource|XMLHttpRequest)$/;
    /** Of `viem`: what calls a chain by itself. */
    const TRANSPORT = /(^|\.)(createPublicClient|createWalletClient|createClient|createRemoteJWKSet)$/;
    const rule: Rule = (node) => {
      if (isCall(node)) return CALLS.test(nameOf(node['callee'])) || TRANSPORT.test(nameOf(node['callee']));
      return (
        node.type === 'MemberExpression' && /^(globalThis|global)\.(fetch|WebSocket|EventSource)$/.test(nameOf(node))
      );
    };
    catches(
      rule,
      'fetch(url)',
      'globalThis.fetch(url)',
      'const call = globalThis.fetch',
      'new WebSocket(url)',
      'new EventSource(url)',
      'createRemoteJWKSet(url)',
    );
    const own = new Map([...product].filter(([file]) => !pages.has(file))); // pages call the service they come from
    /** Their `fetch` is handed to them, and is the guarded one. */
    const given = ['src/providers/kit/protocols/certificates.ts', 'src/providers/email/_sns.ts'];
    expect(found(rule, own).toSorted()).toEqual(given.toSorted());
    for (const file of given)
      expect(readFileSync(file, 'utf8')).toMatch(/import type \{ Fetch \} from '\.[./a-z]*\/fetch\.ts'/);
  });

  test('libraries that call are given the guarded way [OB1]', () => {
    expect(
      readFileSync('src/providers/kit/protocols/openid.ts', 'utf8').match(/\[openid\.customFetch\]/g),
    ).toHaveLength(2); // for the discovery, and for all that follows
    expect(readFileSync('src/providers/kit/wire/open-s3.ts', 'utf8')).toMatch(
      /new sdk\.S3\(\{ \.\.\.configOf\(bucket\), requestHandler: handlerOf\(stream\) \}\)/,
    );
    expect(
      readFileSync('src/providers/kit/wire/open-s3.ts', 'utf8').match(/new sdk\.(?!\w+Command\()\w+\(/g),
    ).toHaveLength(1);
  });
});

describe('our own pages', () => {
  test('pages show texts as texts', () => {
    const rule: Rule = (node) =>
      /\.(innerHTML|outerHTML|insertAdjacentHTML|write|writeln|srcdoc)$/.test(nameOf(node)) &&
      !nameOf(node).startsWith('process.');
    catches(rule, 'x.innerHTML = y', 'document.write(y)', "x.insertAdjacentHTML('beforeend', y)");
    expect(found(rule, pages)).toEqual([]);
  });
  test('pages keep nothing in the browser', () => {
    const rule: Rule = (node) =>
      node.type === 'Identifier' && /^(localStorage|sessionStorage|indexedDB|caches)$/.test(String(node['value']));
    catches(rule, 'localStorage.setItem(a, b)', 'window.sessionStorage');
    expect(found(rule, pages)).toEqual([]);
  });
  test('password fields are masked, and open to password managers and pasting', () => {
    const inputs = filesOf('api/console', /\.html$/).flatMap(
      (file) => readFileSync(file, 'utf8').match(/<input[^>]*name="password"[^>]*>/g) ?? [],
    );
    expect(inputs).toHaveLength(1);
    for (const input of inputs) {
      expect(input).toMatch(/type="password"/);
      expect(input).toMatch(/autocomplete="current-password"/);
      expect(input).not.toMatch(/onpaste|readonly|maxlength/);
    }
    expect(
      filesOf('api/console', /\.js$/).filter((file) => /['"]paste['"]|onpaste/.test(readFileSync(file, 'utf8'))),
    ).toEqual([]);
  });
});
