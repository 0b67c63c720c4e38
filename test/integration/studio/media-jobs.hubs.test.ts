import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { SignedUp, TestApp } from '../../support/worlds/app.ts';
import { formOf, picture } from '../../support/worlds/samples.ts';
import { mediaJobsWorld, type MediaJobsWorld, setProvider } from '../../support/worlds/studio/media-jobs.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';

// Jobs at hubs, by their own adapters: what they are asked, and what becomes of their answers.

const PICTURE = 'black-forest-labs/flux-2-pro';
/** Submits as they came, by their path. */
const submits: string[] = [];
/** A prediction has succeeded, and its output was removed; a request of a queue goes on. */
async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url!, 'http://hub');
  const say = (body: object) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  if (request.method !== 'POST')
    return say({ id: 'p1', status: pathname.startsWith('/predictions') ? 'succeeded' : 'IN_PROGRESS', output: null });
  await json(request);
  submits.push(pathname);
  const at = `http://${request.headers.host}/requests/r1`;
  say({ id: 'p1', status: 'starting', request_id: 'r1', status_url: `${at}/status`, response_url: at, cancel_url: at });
}
const hub = createServer((request, response) => void serve(request, response));

let db: TestDatabase;
let world: MediaJobsWorld;
let app: TestApp;
let ann: SignedUp;
let worker: AsyncDisposable;
beforeAll(async () => {
  await once(hub.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(hub.address() as AddressInfo).port}`;
  db = await testDatabase({ connections: 8 });
  world = await mediaJobsWorld({ db });
  app = await world.open({ servers: { 'media/replicate': url, 'media/fal': url } });
  ann = await app.signUp();
  await setProvider(ann, 'replicate', { prices: JSON.stringify({ [PICTURE]: { perImage: 0.03 } }) });
  await setProvider(ann, 'fal');
  worker = app.context.mediaJobs.start();
});
afterEach(() => void submits.splice(0));
afterAll(async () => {
  await worker?.[Symbol.asyncDispose]();
  await app?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
  hub.close();
});

test('a job that the provider says succeeded, without a result, is settled by its estimate, marked', async () => {
  const asked = { prompt: 'a red kite', providerId: 'replicate', model: PICTURE };
  const { body } = await ann.client.post('/files/generate-image', asked, { prefer: 'respond-async' });
  const id = body.jobId as string;
  await eventually('the job has failed', async () => {
    await db.sql`update media_jobs set next_at = now() where id = ${id} and state = 'running' and incarnation is null`;
    return (await world.row(id))['state'] === 'failed';
  });
  expect((await world.row(id))['error']).toContain('the result is gone');
  expect((await world.ledger(id)).at(-1)).toEqual({ kind: 'settlement', micros: 30_000, marked: true });
});

describe('a studio of several models', () => {
  const KLING = 'fal-ai/kling-video/v2.5-turbo/pro';
  test.each([
    ['the picture is given to the one that starts from pictures', true, {}, `${KLING}/image-to-video`],
    ['a text alone goes to the one that starts from texts', false, {}, `${KLING}/text-to-video`],
    ['the one that is named is asked', true, { model: `${KLING}/text-to-video` }, `${KLING}/text-to-video`],
  ])('%s [S151, S234]', async (_, hasPicture, more, model) => {
    const form = formOf(await picture(8, 8), { name: 'a.png', type: 'image/png' });
    const sources = hasPicture ? [(await ann.client.post('/files/upload-simple', form)).body.id] : [];
    const body = { type: 'kling', customParams: { prompt: 'a clip', seconds: 5, sources, ...more } };
    const answer = await ann.client.post('/files/generate-video', body, { prefer: 'respond-async' });
    expect([answer.status, answer.text]).toEqual([202, expect.any(String)]);
    await eventually('it is submitted', () => submits.length > 0);
    expect(submits).toEqual([`/${model}`]);
    await ann.client.delete(`/files/jobs/${answer.body.jobId}`);
  });

  test('tells what its first model starts from [S151, S234]', async () => {
    const { body } = await ann.client.get('/files/video-options');
    const placed = (body as { identifier: string; placement: string }[]).map((one) => [one.identifier, one.placement]);
    expect(Object.fromEntries(placed)).toMatchObject({ kling: 'text-to-video', seedance: 'image-to-video' });
  });
});
