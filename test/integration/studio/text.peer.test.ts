import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { describePeer, npmPeer, type Peer } from '../../support/peers/peers.ts';
import type { SignedUp } from '../../support/worlds/app.ts';
import { aiMockWorld, type AiMockWorld } from '../../support/worlds/studio/ai-mock.ts';

// Texts over the whole product, by adapters whose server is one of others: what it takes, it takes by its own reading of
// each protocol.

const KEY = { apiKey: 'a-key-of-the-test' };
const AWS = { region: 'us-east-1', accessKeyId: 'AKIDOFTHETEST', secretAccessKey: 'the-secret-of-the-test' };
/** Each with what 1,000 tokens of input and 200 of output cost, in millionths of a dollar. */
const PROVIDERS = [
  { id: 'openai', credentials: KEY, micros: 1_000 * 0.75 + 200 * 4.5 },
  { id: 'anthropic', credentials: KEY, micros: 2_000 },
  { id: 'google', credentials: KEY, micros: 1_000 * 1.5 + 200 * 9 },
  { id: 'cohere', credentials: KEY, micros: 68 },
  { id: 'openrouter', credentials: KEY, micros: undefined },
  { id: 'bedrock', credentials: AWS, micros: undefined },
] as const;
/** The events of Cohere lack a field there that its reference has. */
const STREAMING = PROVIDERS.filter(({ id }) => id !== 'cohere');
/** It tells the cost of each answer, which is missing there: so it is asked later. */
const isOpen = (id: string) => id === 'openrouter';
/** The counts by the names of each protocol. */
const USAGE = {
  prompt_tokens: 1_000,
  completion_tokens: 200,
  input_tokens: 1_000,
  output_tokens: 200,
  promptTokenCount: 1_000,
  candidatesTokenCount: 200,
};
const ANSWER = 'Good morning, Ghènt ☀!';

await describePeer(
  'ai-mock',
  () => npmPeer('ai-mock'),
  ({ start }) => {
    let mock: Peer;
    let world: AiMockWorld;
    let ann: SignedUp;
    beforeAll(async () => {
      mock = await start();
      world = await aiMockWorld(mock);
    });
    beforeEach(async () => {
      ann = await world.app.signUp();
    });
    afterAll(async () => {
      await world?.[Symbol.asyncDispose]();
      await mock?.stop();
    });

    async function setUp(id: string, credentials: object = KEY): Promise<void> {
      const setting = { domain: 'ai', providerId: id, credentials };
      const { status, text } = await ann.client.post('/providers/settings', setting);
      expect([status, text]).toEqual([201, expect.anything()]);
    }
    const ask = (content: string) => ann.client.post('/ai/text', { action: 'rewrite', content });
    async function stream(content: string) {
      const body = { action: 'rewrite', content };
      const { status, text } = await ann.client.post('/ai/text', body, { accept: 'text/event-stream' });
      const events = text.split('\n\n').flatMap((block) => {
        const [, event, data] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? [];
        return event === undefined ? [] : [{ event, data: JSON.parse(data!) as Record<string, string> }];
      });
      const said = events.map(({ event, data }) => (event === 'text' ? data['text'] : '')).join('');
      return { status, said, last: events.at(-1) };
    }
    const ledger = () => world.db.sql<{ kind: string; providerId: string; micros: number; marked: boolean }[]>`
      select kind, provider_id as "providerId", micros::float8, marked
      from ai_ledger
      where org_id = ${ann.orgId}
      order by at, array_position('{reservation,release,settlement}', kind)`;
    const paths = async () => (await world.asked()).map(({ path }) => path);

    const settled = async () => (await ledger()).filter(({ kind }) => kind === 'settlement');
    const answering = { match: { userMessage: 'Ghent' }, response: { content: ANSWER, usage: USAGE }, chunkSize: 5 };

    test.each(PROVIDERS)(
      '$id answers, and is paid by the tokens that it counts',
      async ({ id, credentials, micros }) => {
        await setUp(id, credentials);
        await world.plan(answering);
        expect(await ask('Hello Ghent')).toMatchObject({ status: 200, body: { content: ANSWER, providerId: id } });
        expect(await paths()).toHaveLength(1);
        expect(await settled()).toEqual([
          { kind: 'settlement', providerId: id, micros: micros ?? expect.any(Number), marked: isOpen(id) },
        ]);
      },
    );

    test.each(STREAMING)(
      '$id streams its answer, which is paid like any other',
      async ({ id, credentials, micros }) => {
        await setUp(id, credentials);
        await world.plan(answering);
        expect(await stream('Hello Ghent')).toEqual({
          status: 200,
          said: ANSWER,
          last: { event: 'done', data: expect.objectContaining({ content: ANSWER, providerId: id }) },
        });
        expect(await paths()).toHaveLength(1);
        expect(await settled()).toEqual([
          { kind: 'settlement', providerId: id, micros: micros ?? expect.any(Number), marked: isOpen(id) },
        ]);
      },
    );

    test.each(PROVIDERS)(
      '$id is left for the next when it asks to wait or fails before an answer, and costs nothing',
      async ({ id, credentials }) => {
        await setUp(id, credentials);
        await world.plan(
          ...[429, 500].map((status) => ({
            match: { userMessage: `status ${status}` },
            response: { error: { message: 'Not now', type: 'some_error' }, status, retryAfter: 7 },
          })),
        );
        expect(await ask('status 429')).toMatchObject({ status: 502, body: { provider: id, failure: 'rate_limited' } });
        expect(await ask('status 500')).toMatchObject({ status: 502, body: { provider: id, failure: 'unavailable' } });
        expect((await stream('status 500')).status).toBe(502);
        expect((await ledger()).map(({ kind }) => kind)).toEqual([1, 2, 3].flatMap(() => ['reservation', 'release']));

        const next = id === 'openai' ? 'anthropic' : 'openai';
        await setUp(next);
        const failing = { error: { message: 'Not now', type: 'some_error' }, status: 500 };
        await world.plan(
          { match: { userMessage: 'in turn', sequenceIndex: 0 }, response: failing },
          { match: { userMessage: 'in turn' }, response: { content: ANSWER } },
        );
        expect(await ask('in turn')).toMatchObject({ status: 200, body: { content: ANSWER, providerId: next } });
        expect(await paths()).toHaveLength(2);
      },
    );

    test.each(STREAMING)(
      '$id that cuts a stream is told as such; the call is settled by its estimate, marked, and asked of nobody else',
      async ({ id, credentials }) => {
        await setUp(id, credentials);
        await setUp(id === 'openai' ? 'anthropic' : 'openai');
        await world.plan({
          match: { userMessage: 'cut' },
          response: { content: ANSWER.repeat(20), usage: USAGE },
          chunkSize: 5,
          truncateAfterChunks: 20,
          latency: 2,
        });
        const { status, said, last } = await stream('cut');
        expect([status, said.length > 0, last]).toEqual([
          200,
          true,
          { event: 'error', data: expect.objectContaining({ code: 'provider_failed', provider: id }) },
        ]);
        expect(await paths()).toHaveLength(1);
        const [reservation, release, settlement, ...more] = await ledger();
        expect([reservation, release, settlement, more]).toEqual([
          expect.objectContaining({ kind: 'reservation', providerId: id }),
          expect.objectContaining({ kind: 'release' }),
          expect.objectContaining({ kind: 'settlement', micros: reservation!.micros, marked: true }),
          [],
        ]);
      },
    );

    test.each(PROVIDERS)(
      '$id that ends the connection, or answers garbage, may have been paid: settled, marked, and asked of nobody else',
      async ({ id, credentials }) => {
        await setUp(id, credentials);
        await setUp(id === 'openai' ? 'anthropic' : 'openai');
        for (const chaos of [{ disconnectRate: 1 }, { malformedRate: 1 }]) {
          await world.plan({ match: { userMessage: 'gone' }, response: { content: ANSWER }, chaos });
          expect(await ask('gone')).toMatchObject({ status: 502, body: { provider: id, failure: 'lost' } });
          expect(await paths()).toHaveLength(1);
          expect((await ledger()).at(-1)).toMatchObject({ kind: 'settlement', marked: true });
        }
      },
    );
  },
);
