import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Peer } from '../../peers/peers.ts';
import { testDatabase } from '../../wire/database.ts';
import { mediaApp } from '../media.ts';

/** Where aimock serves the API of each provider. */
const PLACES = {
  'ai/openai': '/v1',
  'ai/anthropic': '/v1',
  'ai/google': '/v1beta',
  'ai/cohere': '',
  'ai/openrouter': '/api/v1',
  'ai/bedrock': '',
  'media/openai': '/v1',
  'media/elevenlabs': '',
  'media/google': '/v1beta',
  'media/openrouter': '/api/v1',
} as const;

/** What aimock answers to a question that holds these words, and how often before the next plan of the same words. */
export interface MockPlan {
  match: { userMessage?: string; inputText?: string; sequenceIndex?: number; endpoint?: string };
  response: object;
  /** Characters of a piece of a stream. */
  chunkSize?: number;
  /** Milliseconds between pieces, so that each is sent before the next. */
  latency?: number;
  /** A stream is cut after so many pieces. */
  truncateAfterChunks?: number;
  chaos?: { dropRate?: number; malformedRate?: number; disconnectRate?: number };
}
interface Journalled {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Record<string, unknown>;
}

/** The product, whose providers of AI are aimock. */
export async function aiMockWorld(mock: Peer) {
  await using opened = new AsyncDisposableStack();
  const db = opened.use(await testDatabase({ connections: 8 }));
  const folder = await mkdtemp(join(tmpdir(), 'rookery-ai-mock-'));
  opened.defer(() => rm(folder, { recursive: true }));
  const servers = Object.fromEntries(Object.entries(PLACES).map(([name, path]) => [name, mock.url + path]));
  const env = { SSRF_ALLOWED_PRIVATE_CIDRS: '127.0.0.1/32' };
  const app = opened.use(await mediaApp({ sql: db.sql, folder, servers, env }));
  opened.use(app.context.mediaJobs.start());
  const control = async (path: string, body?: object) => {
    const post = body && { method: 'POST', body: JSON.stringify(body) };
    const answer = await fetch(`${mock.url}/__aimock${path}`, post ?? {});
    if (!answer.ok) throw new Error(`aimock refused ${path}: ${await answer.text()}`);
    return answer.json() as Promise<unknown>;
  };
  const end = opened.move();
  return {
    app,
    db,
    /** Answers these from now on; earlier plans and requests are forgotten. */
    async plan(...fixtures: readonly MockPlan[]) {
      await control('/reset', {});
      await control('/fixtures', { fixtures });
    },
    /** Requests that came since the last plan. */
    asked: async () => (await control('/journal')) as Journalled[],
    [Symbol.asyncDispose]: () => end.disposeAsync(),
  };
}
export type AiMockWorld = Awaited<ReturnType<typeof aiMockWorld>>;
