import { parseSync } from '@swc/core';
import { afterAll, describe, expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { createContext, Script } from 'node:vm';

// What the program's own text must not hold. Each rule is tried on a planted fault first: one that finds nothing there proves nothing.

const filesOf = (folder: string, ends: RegExp): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => ends.test(file))
    .map((file) => `${folder}/${file}`);

interface Node {
  type: string;
  [key: string]: unknown;
}
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';
function* nodes(value: unknown): Generator<Node> {
  if (Array.isArray(value)) for (const one of value) yield* nodes(one);
  else if (typeof value === 'object' && value !== null) {
    if (isNode(value)) yield value;
    for (const one of Object.values(value)) yield* nodes(one);
  }
}
const parse = (text: string): readonly Node[] => [...nodes(parseSync(text, { syntax: 'typescript', target: 'es2024' }))];
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
const found = (rule: Rule, files: Map<string, readonly Node[]> = product): string[] => [...files].filter(([, all]) => all.some(rule)).map(([file]) => file);
/** Each planted line must be caught. */
const catches = (rule: Rule, ...planted: string[]) => expect(planted.filter((line) => !parse(line).some(rule))).toEqual([]);

test('the whole program is read', () => {
  expect(product.size).toBeGreaterThan(300);
  expect(pages.size).toBeGreaterThan(2);
});

test('no text is run as a program', () => {
  const rule: Rule = (node) =>
    (isCall(node) && ['eval', 'Function', 'vm.runInNewContext', 'vm.runInThisContext', 'vm.Script'].includes(nameOf(node['callee']))) ||
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
    return isCall(node) && /^random(Bytes|Hex|Base64url)$/.test(nameOf(node['callee'])) && size?.type === 'NumericLiteral' && Number(size['value']) < 16;
  };
  catches(small, 'randomBytes(8)', 'randomHex(15)');
  expect(found(small)).toEqual(['src/cli/demo.ts']); // the address of the demo’s account
});

test('SQL takes values as parameters only', () => {
  const rule: Rule = (node) => isCall(node) && /(^|\.)unsafe$/.test(nameOf(node['callee']));
  catches(rule, 'sql.unsafe(text)', 'tx.unsafe(`select ${x}`)');
  expect(found(rule)).toEqual(['src/db/migrate.ts']); // whole files of our own
});

test('programs are started without a shell', () => {
  const rule: Rule = (node) =>
    (isCall(node) && /^(exec|execSync)$/.test(nameOf(node['callee']))) ||
    (node.type === 'KeyValueProperty' && nameOf(node['key']) === 'shell' && (node['value'] as Node)['value'] !== false);
  catches(rule, 'exec("ls " + x)', 'execSync(`ls ${x}`)', 'spawn("ls", [x], { shell: true })');
  expect(found(rule)).toEqual([]);
});

test('no pattern is made of what people type', () => {
  const rule: Rule = (node) => isCall(node) && nameOf(node['callee']) === 'RegExp' && argument(node, 0)?.type !== 'StringLiteral';
  catches(rule, 'new RegExp(x)', 'RegExp(`^${x}`)');
  expect(found(rule)).toEqual(['src/providers/rules.ts']); // the form that an adapter declares for its field
});

test('hashes are of today: SHA-256 and better', () => {
  const rule: Rule = (node) =>
    isCall(node) &&
    /^(createHash|createHmac|hash|createSign|createVerify|sign|verify)$/.test(nameOf(node['callee'])) &&
    /^(rsa-)?(md|sha-?1|rip)/i.test(String(argument(node, 0)?.['value']));
  catches(rule, "createHash('md5')", "createHmac('sha1', key)", "hash('SHA1', x)", "verify('sha1', text, key, given)", "createVerify('RSA-SHA1')");
  expect(found(rule)).toEqual(['src/providers/kit/s3-client.ts']); // a checksum that some storages ask for in Content-MD5; it protects nothing
});

describe('calls to others go out through the guard', () => {
  /** Modules that open connections, and who may load them: servers, the guard itself, and what calls the operator's own machines. */
  const LINES =
    /^(node:)?(http|https|http2|net|tls|dgram|dns|dns\/promises|undici|ws|@grpc\/grpc-js|ioredis|postgres|pg|nodemailer|openid-client|stripe|@aws-sdk\/[\w-]+)$/;
  /** Of these modules, what connects to nobody. */
  const STILL = /^(isIP|isIPv4|isIPv6|STATUS_CODES|rootCertificates|validateHeaderName|validateHeaderValue)$/;
  const MAY: readonly [RegExp, string][] = [
    [/^src\/outbound\//, 'the guard'],
    [/^(api\/main|sandbox\/server|src\/telemetry\/listener|src\/cli\/receiver)\.ts$/, 'listens'],
    [/^src\/(cli\/start|db\/embedded)\.ts$/, 'looks for a free port'],
    [/^src\/cli\/call\.ts$/, 'the commands, which call the service they belong to'],
    [/^src\/actor-runtime\/dapr\//, 'the sidecar and the hosts of the cluster'],
    [/^src\/(cache\/redis|db\/\w+)\.ts$/, 'the stores'],
    [/^src\/billing\/stripe\.ts$/, 'the processor of payments, at its own address'],
    [/^src\/providers\/kit\/open-smtp\.ts$/, 'the mail server of the operator; organizations have none'],
    [/^src\/providers\/kit\/(open-s3|openid)\.ts$/, 'libraries that are given the guarded call'],
  ];
  const sourceOf = (node: Node): string => {
    if (node.type === 'ImportDeclaration' || node.type === 'ExportNamedDeclaration' || node.type === 'ExportAllDeclaration') {
      const names = (node['specifiers'] as { isTypeOnly?: boolean; imported?: Node | null; local?: Node }[] | undefined) ?? [];
      const still = names.every(({ isTypeOnly, imported, local }) => isTypeOnly === true || STILL.test(nameOf(imported ?? local)));
      return node['typeOnly'] === true || (names.length > 0 && still) || !isNode(node['source']) ? '' : String(node['source']['value']);
    }
    const loads =
      node.type === 'CallExpression' &&
      ((node['callee'] as Node).type === 'Import' || /^(require|createRequire\(\)|process\.getBuiltinModule)$/.test(nameOf(node['callee'])));
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
    expect(['import type { Socket } from "node:net"', 'import { type Socket, isIP } from "node:net"'].filter((line) => parse(line).some(rule))).toEqual([]);
    expect(found(rule).filter((file) => !MAY.some(([files]) => files.test(file)))).toEqual([]);
  });

  test('no call of the platform’s own is made, and no library is left to make its own [OB1]', () => {
    const CALLS = /^((globalThis|global|window|self)\.)?(fetch|WebSocket|EventSource|XMLHttpRequest)$/;
    /** Of `viem`: what calls a chain by itself. */
    const TRANSPORT = /(^|\.)(createPublicClient|createWalletClient|createClient|createRemoteJWKSet)$/;
    const rule: Rule = (node) => {
      if (isCall(node)) return CALLS.test(nameOf(node['callee'])) || TRANSPORT.test(nameOf(node['callee']));
      return node.type === 'MemberExpression' && /^(globalThis|global)\.(fetch|WebSocket|EventSource)$/.test(nameOf(node));
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
    const given = ['src/providers/kit/certificates.ts', 'src/providers/email/_sns.ts'];
    expect(found(rule, own).toSorted()).toEqual(given.toSorted());
    for (const file of given) expect(readFileSync(file, 'utf8')).toMatch(/import type \{ Fetch \} from '\.[./a-z]*\/fetch\.ts'/);
  });

  test('libraries that call are given the guarded way [OB1]', () => {
    expect(readFileSync('src/providers/kit/openid.ts', 'utf8').match(/\[openid\.customFetch\]/g)).toHaveLength(2); // for the discovery, and for all that follows
    expect(readFileSync('src/providers/kit/open-s3.ts', 'utf8')).toMatch(/new sdk\.S3\(\{ \.\.\.configOf\(bucket\), requestHandler: handlerOf\(stream\) \}\)/);
    expect(readFileSync('src/providers/kit/open-s3.ts', 'utf8').match(/new sdk\.(?!\w+Command\()\w+\(/g)).toHaveLength(1);
  });
});

describe('our own pages', () => {
  test('pages show texts as texts', () => {
    const rule: Rule = (node) => /\.(innerHTML|outerHTML|insertAdjacentHTML|write|writeln|srcdoc)$/.test(nameOf(node)) && !nameOf(node).startsWith('process.');
    catches(rule, 'x.innerHTML = y', 'document.write(y)', "x.insertAdjacentHTML('beforeend', y)");
    expect(found(rule, pages)).toEqual([]);
  });
  test('pages keep nothing in the browser', () => {
    const rule: Rule = (node) => node.type === 'Identifier' && /^(localStorage|sessionStorage|indexedDB|caches)$/.test(String(node['value']));
    catches(rule, 'localStorage.setItem(a, b)', 'window.sessionStorage');
    expect(found(rule, pages)).toEqual([]);
  });
  test('password fields are masked, and open to password managers and pasting', () => {
    const inputs = filesOf('api/console', /\.html$/).flatMap((file) => readFileSync(file, 'utf8').match(/<input[^>]*name="password"[^>]*>/g) ?? []);
    expect(inputs).toHaveLength(1);
    for (const input of inputs) {
      expect(input).toMatch(/type="password"/);
      expect(input).toMatch(/autocomplete="current-password"/);
      expect(input).not.toMatch(/onpaste|readonly|maxlength/);
    }
    expect(filesOf('api/console', /\.js$/).filter((file) => /['"]paste['"]|onpaste/.test(readFileSync(file, 'utf8')))).toEqual([]);
  });
});

// A pattern whose cost grows with the square of its text takes seconds for 100 kB, one that backtracks for ever never ends; a good one takes a millisecond.
describe('regular expressions', () => {
  const LENGTH = 100_000;
  const PATIENCE_MS = 1_000; // a hundred times what the slowest good one takes, and a fraction of what a bad one does
  const context = createContext({ pattern: /x/, text: '' });
  const script = new Script('pattern.lastIndex = 0; pattern.test(text);');
  const isSlow = (pattern: RegExp, text: string): boolean => {
    Object.assign(context, { pattern, text });
    try {
      script.runInContext(context, { timeout: PATIENCE_MS });
      return false;
    } catch {
      return true;
    }
  };
  /** A second slow time makes it certain: the first may have been the machine's. */
  const cost = (pattern: RegExp, text: string) => (isSlow(pattern, text) && isSlow(pattern, text) ? 'slow' : 'fine');
  /** What makes a pattern go back: each character and pair of its own, its literal parts, and the usual classes, over and over, with an end that fits nothing. */
  function attacks(source: string): string[] {
    const plain = source.replace(/\\[pP]\{[^}]*\}|\\u\{?[0-9a-fA-F]+\}?|\\x[0-9a-fA-F]{2}|\\[dDwWsSbBnrtfv0-9]|[[\](){}?*+|^$]/g, ' ').replaceAll('\\', '');
    const words = [...new Set(plain.split(' ').filter((word) => word !== ''))].slice(0, 12);
    const own = [...new Set(plain.replaceAll(' ', ''))].slice(0, 6);
    const pieces = new Set([
      ...words,
      ...own,
      ...own.flatMap((a) => own.map((b) => a + b)),
      'a',
      'A',
      '0',
      ' ',
      '\t',
      '\n',
      '-',
      '.',
      '/',
      '<',
      '_',
      'a.',
      'a ',
      '0.',
      'é',
      '\u0000',
    ]);
    const heads = ['', words[0] ?? ''];
    return [...pieces].flatMap((piece) => heads.map((head) => `${head}${piece.repeat(Math.ceil(LENGTH / piece.length))}\u0001`));
  }
  const literals = [...product].flatMap(([file, all]) =>
    all.filter(({ type }) => type === 'RegExpLiteral').map(({ pattern, flags }) => ({ file, pattern: String(pattern), flags: String(flags ?? '') })),
  );
  let tried = 0;
  afterAll(() => void process.stdout.write(`${literals.length} patterns, ${tried} texts of ${LENGTH} characters\n`));

  test('a bad one is told from a good one', () => {
    expect(cost(/^(a+)+$/, `${'a'.repeat(60)}!`)).toBe('slow');
    expect(attacks('\\s+$').some((text) => cost(/\s+$/, text) === 'slow')).toBe(true);
    expect(attacks('^a+$').some((text) => cost(/^a+$/, text) === 'slow')).toBe(false);
  });
  test('none in the program is slow, however long the text', () => {
    expect(literals.length).toBeGreaterThan(150);
    const slow: string[] = [];
    for (const all of Map.groupBy(literals, ({ pattern, flags }) => `/${pattern}/${flags}`).values()) {
      const { pattern, flags } = all[0]!;
      const files = [...new Set(all.map(({ file }) => file))].join(', ');
      for (const text of attacks(pattern)) {
        tried += 1;
        if (cost(new RegExp(pattern, flags), text) === 'fine') continue;
        slow.push(`${files}: /${pattern}/${flags} on ${JSON.stringify(text.slice(0, 20))}`);
        break;
      }
    }
    expect(slow).toEqual([]);
  }, 600_000);
});
