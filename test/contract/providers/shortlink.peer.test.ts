import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { OutboundAnswer } from '../../../src/platform/outbound/index.ts';
import type { Shortener } from '../../../src/providers/registry/index.ts';
import { apiDocument } from '../../support/peers/documents/api-documents.ts';
import { describePeer, npmPeer, type Peer } from '../../support/peers/peers.ts';
import { localProviders } from '../../support/worlds/providers.ts';

const document = apiDocument('dub.json');

if (document === undefined)
  describe.skip('Dub [skipped: its description lies beside a checkout, and a clone alone has none]', () =>
    test('is asked', () => undefined));
else
  await describePeer(
    'email-apis', // which has the judge by documents
    () => npmPeer('email-apis'),
    ({ start }) => {
      let peer: Peer;
      let url: string;
      beforeAll(async () => {
        peer = await start();
        const started = await fetch(`${peer.url}/prism`, { method: 'POST', body: JSON.stringify({ document }) });
        ({ url } = (await started.json()) as { url: string });
      });
      afterAll(() => peer.stop());

      /**
       * Sends calls through a validator with Dub's API description; answers their status, and the faults of request or
       * answer.
       */
      async function judged(work: (port: Shortener, check: () => Promise<unknown>) => Promise<unknown>) {
        const answers: OutboundAnswer[] = [];
        await using plain = localProviders();
        const { outbound } = plain;
        const watched = {
          ...outbound,
          fetch: async (...call: Parameters<typeof outbound.fetch>) => {
            const answer = await outbound.fetch(...call);
            answers.push(answer);
            return answer;
          },
        };
        const providers = localProviders({ outbound: watched, servers: { 'shortlink/dub': url } });
        const adapter = providers.resolve('shortlink', 'dub');
        const values = providers.fields(adapter, { apiKey: 'dub_the-key', domain: 'go.shop.example' });
        await work(providers.shortener(adapter, { orgId: null, values }), () =>
          Promise.resolve(providers.check(adapter, values)),
        ).catch(() => undefined); // its samples are not all addresses
        return answers.map(({ status, headers }) => [status, headers.get('sl-violations')]);
      }

      test.each<[string, Parameters<typeof judged>[0]]>([
        ['a link', (port) => port.shorten('https://shop.example/a?b=1&c=2')],
        ['clicks', (port) => port.clicks!({ id: 'link_1', shortUrl: 'https://go.shop.example/a1' })],
        ['the test of the settings', (_, check) => check()],
      ])('%s is asked for as the description of Dub has it', async (_, work) => {
        expect(await judged(work)).toEqual([[200, null]]);
      });

      test('the description refuses a link that is too long', async () => {
        const [[status]] = (await judged((port) => port.shorten(`https://shop.example/${'x'.repeat(32_001)}`))) as [
          [number, string],
        ];
        expect(status).toBe(422);
      });
    },
  );
