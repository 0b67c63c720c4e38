import { expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApi } from '../../api/http/openapi/index.ts';
import { described } from '../../api/resources/openapi/described.ts';
import { routes } from '../../api/resources/routes.gen.ts';
import { installPeer, peerEnv } from '../support/peers/peer-install.ts';
import { describePeer } from '../support/peers/peers.ts';

// The document as a linter of others sees it, with its strictest rules.

let folder = '';
const notStarted = () => Promise.reject(new Error('it is no server'));
const find = async () => {
  folder = await installPeer('openapi');
  return { start: notStarted };
};

await describePeer('openapi', find, () => {
  test.each(['/', '/public/v1/'])(
    'redocly lint finds nothing in the document below %s [S267]',
    async (prefix) => {
      const place = await mkdtemp(join(tmpdir(), 'rookery-openapi-'));
      try {
        const file = join(place, 'openapi.json');
        await writeFile(file, JSON.stringify(openApi(routes, { ...described, prefix, version: '1.0.0' })));
        const node = await readFile(`${folder}/node_modules/.node`, 'utf8');
        const report = await new Promise<string>((resolve) => {
          execFile(
            node,
            [
              `${folder}/node_modules/@redocly/cli/bin/cli.js`,
              'lint',
              file,
              `--config=${folder}/redocly.yaml`,
              '--format=json',
              '--max-problems=100',
            ],
            {
              cwd: folder,
              maxBuffer: 2 ** 26,
              env: { ...peerEnv(), REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
            },
            (_, stdout) => resolve(stdout),
          );
        });
        const { totals, problems } = JSON.parse(report) as {
          totals: { errors: number; warnings: number };
          problems: { ruleId: string; message: string; location: { pointer?: string }[] }[];
        };
        expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
        expect(totals).toMatchObject({ errors: 0, warnings: 0 });
      } finally {
        await rm(place, { recursive: true, force: true });
      }
    },
    120_000,
  );
});
