import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { describePeer, npmPeer, type Peer } from '../../support/peers/peers.ts';
import { eventually } from '../../support/wire/eventually.ts';
import type { SignedUp } from '../../support/worlds/app.ts';
import { HEADS, picture } from '../../support/worlds/samples.ts';
import { aiMockWorld, type AiMockWorld } from '../../support/worlds/studio/ai-mock.ts';

// Pictures, voices, captions and videos over the whole product, by adapters whose server is one of others.

const PRICES = JSON.stringify({
  'gpt-image-2': { perImage: 0.04 },
  eleven_multilingual_v2: { characters: 100 },
});
const MP3 = { audio: HEADS['mp3']!.toString('base64'), format: 'mp3' };

await describePeer(
  'ai-mock',
  () => npmPeer('ai-mock'),
  ({ start }) => {
    let mock: Peer;
    let world: AiMockWorld;
    let ann: SignedUp;
    let png: string;
    beforeAll(async () => {
      mock = await start();
      world = await aiMockWorld(mock);
      png = (await picture(64, 48)).toString('base64');
    });
    beforeEach(async () => {
      ann = await world.app.signUp();
    });
    afterAll(async () => {
      await world?.[Symbol.asyncDispose]();
      await mock?.stop();
    });

    async function setUp(providerId: string): Promise<void> {
      const setting = { domain: 'media', providerId, credentials: { apiKey: 'a-key' }, options: { prices: PRICES } };
      const { status, text } = await ann.client.post('/providers/settings', setting);
      expect([status, text]).toEqual([201, expect.anything()]);
    }
    const paths = async () => (await world.asked()).map(({ method, path }) => `${method} ${path.split('?')[0]}`);
    const ledger = async () =>
      (
        await world.db.sql<{ kind: string }[]>`
          select kind
          from ai_ledger
          where org_id = ${ann.orgId}
          order by at, array_position('{reservation,release,settlement}', kind)`
      ).map(({ kind }) => kind);
    const mimeOf = async (id: string) => (await ann.client.get(`/files/${id}`)).body.mime as string;

    test('a picture of openai comes into the library, asked for once', async () => {
      await setUp('openai');
      await world.plan({
        match: { userMessage: 'a kite', endpoint: 'image' },
        response: { image: { b64Json: png } },
      });
      const { status, body } = await ann.client.post('/files/generate-image', { prompt: 'a kite' });
      expect([status, await mimeOf(body.id)]).toEqual([201, 'image/png']);
      expect(await paths()).toEqual(['POST /v1/images/generations']);
      expect(await ledger()).toEqual(['reservation', 'release', 'settlement']);
    });

    const begin = async () => {
      const answer = await ann.client.post('/files/generate-image', { prompt: 'a kite' }, { prefer: 'respond-async' });
      expect(answer.status).toBe(202);
      return answer.body.jobId as string;
    };
    const refusing = (status: number) => ({
      match: { userMessage: 'a kite', endpoint: 'image' },
      response: { error: { message: 'Not now', type: 'some_error' }, status, retryAfter: 3_600 },
    });
    const isIn = (id: string, detail: string) =>
      eventually(
        `job ${id} is ${detail}`,
        async () => (await ann.client.get(`/files/jobs/${id}`)).body.detail === detail,
      );

    test('a picture that openai refuses for an hour waits for it, and is then asked for once more', async () => {
      await setUp('openai');
      await world.plan(refusing(429));
      const id = await begin();
      const waits = async () =>
        (await world.db.sql`select 1 from media_jobs where id = ${id} and next_at > now() + interval '50 minutes'`)
          .length === 1;
      await eventually('the job waits for most of an hour', waits);
      expect(await paths()).toEqual(['POST /v1/images/generations']);
      await world.plan({ match: { userMessage: 'a kite', endpoint: 'image' }, response: { image: { b64Json: png } } });
      await world.db.sql`update media_jobs set next_at = now() where id = ${id}`;
      await isIn(id, 'done');
      expect(await paths()).toEqual(['POST /v1/images/generations']);
      expect(await ledger()).toEqual(['reservation', 'release', 'settlement']);
    });

    test('a picture whose submit openai fails to answer may have been billed: not asked for again', async () => {
      await setUp('openai');
      await world.plan(refusing(500));
      await isIn(await begin(), 'unknown');
      expect(await paths()).toEqual(['POST /v1/images/generations']);
      expect(await ledger()).toEqual(['reservation']);
    });

    test.each([
      ['openai', 'speech', 'POST /v1/audio/speech'],
      ['elevenlabs', 'elevenlabs-tts', 'POST /v1/text-to-speech/JBFqnCBsd6RMkjVDRZzb'],
    ])('a text is read aloud by %s', async (id, endpoint, path) => {
      await setUp(id);
      await world.plan({ match: { userMessage: 'Good morning', endpoint }, response: MP3 });
      const { status, body } = await ann.client.post('/files/generate-voice', { text: 'Good morning' });
      expect([status, await mimeOf(body.id)]).toEqual([201, 'audio/mpeg']);
      expect(await paths()).toEqual([path]);
    });

    test('a sound becomes captions by openai', async () => {
      await setUp('openai');
      const segments = [{ id: 0, start: 0, end: 1.5, text: ' Good evening.' }];
      await world.plan(
        { match: { userMessage: 'Good evening', endpoint: 'speech' }, response: MP3 },
        {
          match: { endpoint: 'transcription' },
          response: { transcription: { text: 'Good evening.', language: 'english', duration: 1.5, segments } },
        },
      );
      const voice = await ann.client.post('/files/generate-voice', { text: 'Good evening' });
      const { status, body } = await ann.client.post('/files/captions', { fileId: voice.body.id, language: 'en' });
      expect([status, body.length]).toEqual([201, 2]);
      const [srt] = body as { path: string }[];
      expect((await ann.client.get(new URL(srt!.path).pathname)).text).toBe(
        '1\n00:00:00,000 --> 00:00:01,500\nGood evening.\n',
      );
      expect(await paths()).toEqual(['POST /v1/audio/speech', 'POST /v1/audio/transcriptions']);
    });

    test('a video of openrouter is asked for once, polled, fetched from it with the key, and billed as it says', async () => {
      await setUp('openrouter');
      await world.plan({
        match: { userMessage: 'a clip', endpoint: 'video' },
        response: { video: { id: 'v1', status: 'completed', b64: HEADS['mp4']!.toString('base64'), cost: 0.25 } },
      });
      const { status, body } = await ann.client.post(
        '/files/generate-video',
        { type: 'openrouter/video', output: 'horizontal', customParams: { prompt: 'a clip', seconds: 4 } },
        { prefer: 'respond-async' },
      );
      expect([status, body]).toEqual([202, expect.anything()]);
      const id = body.jobId as string;
      await eventually('the video is there', async () => {
        await world.db.sql`update media_jobs set next_at = now() where id = ${id} and state = 'running'`;
        return (await ann.client.get(`/files/jobs/${id}`)).body.state === 'done';
      });
      const [file] = (await ann.client.get(`/files/jobs/${id}`)).body.result;
      expect(await mimeOf(file.id)).toBe('video/mp4');
      const asked = await paths();
      expect(asked.filter((one) => one === 'POST /api/v1/videos')).toHaveLength(1);
      expect(asked.at(-1)).toMatch(/^GET \/api\/v1\/videos\/[^/]+\/content$/);
      const [{ micros }] = (await world.db.sql`
        select micros::float8
        from ai_ledger
        where org_id = ${ann.orgId} and kind = 'settlement'`) as unknown as [{ micros: number }];
      expect(micros).toBe(250_000);
    });
  },
);
