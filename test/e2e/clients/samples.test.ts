import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { dataOf, openRookery } from '../../../clients/typescript/src/index.ts';
import { runCli } from '../../../clients/cli/src/run.ts';
import { startReceiver } from '../../support/wire/receiver.ts';

// The samples that the OpenAPI document shows for the two clients, each typed and run: it calls its own route.

const ROOT = join(import.meta.dirname, '../../..');
interface Sample {
  route: string;
  label: string;
  source: string;
}
const document = JSON.parse(readFileSync(join(ROOT, 'docs/openapi.gen.json'), 'utf8')) as {
  paths: Record<string, Record<string, { 'x-codeSamples'?: Omit<Sample, 'route'>[] }>>;
};
const samples = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, { 'x-codeSamples': all = [] }]) =>
    all.map((one): Sample => ({ route: `${method.toUpperCase()} ${path}`, ...one })),
  ),
);
const of = (label: string) => samples.filter((one) => one.label === label);

let folder: string;
let service: Awaited<ReturnType<typeof startReceiver>>;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rookery-samples-'));
  writeFileSync(join(folder, 'bicycle.png'), 'x');
  writeFileSync(join(folder, 'posts.csv'), 'channel,text\nc,Hello\n');
  service = await startReceiver({
    answer: (response) =>
      void response
        .writeHead(404, { 'content-type': 'application/json' })
        .end('{"statusCode":404,"message":"No","msg":"No","error":"Not Found","code":"not_found"}'),
  });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** The route that was called, as the document writes it. */
function called({ route }: Sample): string[] {
  const [method, path] = route.split(' ') as [string, string];
  const pattern = new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
  return service.ledger
    .splice(0)
    .map((one) =>
      one.method === method && pattern.test(one.path.split('?')[0]!) ? route : `${one.method} ${one.path}`,
    );
}

describe('the samples', () => {
  test('of the client are typed rightly', async () => {
    const functions = of('Client').map(
      ({ source }, n) => `export async function sample${n}() { return ${source.replace(/;$/, '')}; }`,
    );
    const file = join(folder, 'samples.mts');
    const head = `import { dataOf, openRookery } from '${ROOT}/clients/typescript/src/index.ts';\nconst rookery = openRookery({ url: '' });\nconst file = new Blob();\n`;
    writeFileSync(file, [head, ...functions].join('\n'));
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        extends: `${ROOT}/clients/tsconfig.build.json`,
        compilerOptions: {
          noEmit: true,
          declaration: false,
          rewriteRelativeImportExtensions: false,
          rootDir: '/',
          typeRoots: [`${ROOT}/node_modules/@types`],
        },
        files: [file],
        include: [],
      }),
    );
    await promisify(execFile)(process.execPath, [`${ROOT}/node_modules/typescript/bin/tsc`, '-p', folder]).catch(
      ({ stdout }: { stdout: string }) => expect(stdout).toBe(''),
    );
    expect(of('Client')).toHaveLength(of('curl').length);
  }, 120_000);

  test('of the client call their routes', async () => {
    const rookery = openRookery({ url: service.url, credential: 'key', maxWaitMs: 0 });
    for (const sample of of('Client')) {
      // oxlint-disable-next-line typescript/no-implied-eval -- what the document shows is run as it stands
      const run = new Function('rookery', 'dataOf', 'file', `return (async () => { ${sample.source} })()`) as (
        ...given: unknown[]
      ) => Promise<unknown>;
      await expect(run(rookery, dataOf, new Blob(['x']))).rejects.toMatchObject({ code: 'not_found' });
      expect(called(sample)).toEqual([sample.route]);
    }
  });

  test('of the command line call their routes', async () => {
    for (const sample of of('Command line')) {
      const [program, ...words] = sample.source.match(/"[^"]*"|\S+/g)!.map((word) => word.replaceAll('"', ''));
      const status = await runCli(
        words.map((word) => (/^(bicycle\.png|posts\.csv)$/.test(word) ? join(folder, word) : word)),
        {
          env: { ROOKERY_URL: service.url, ROOKERY_API_KEY: 'key' },
          configFolder: folder,
          stdin: Readable.from([]),
          out: () => undefined,
          err: () => undefined,
          signal: new AbortController().signal,
        },
      );
      expect([sample.source, program, status, called(sample)]).toEqual([sample.source, 'rookery', 4, [sample.route]]);
    }
    expect(of('Command line').length).toBeGreaterThan(25);
  });
});
