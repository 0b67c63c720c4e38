import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { secret } from '../../../../src/providers/kit/declare/fields.ts';
import { base64File } from '../../../../src/providers/kit/wire/large.ts';
import type { MediaOutput } from '../../../../src/providers/media/_calls.ts';
import { media, type MediaAdapter, sentFiles } from '../../../../src/providers/media/_contract.ts';
import { HEADS, picture } from '../samples.ts';

// A provider of media on the wire, whose answers a test plans by the prompt, and the adapters that ask it.

/** How the maker treats a submit. `cut`: the connection ends before it is taken, or after; `hang`: no answer. */
type Taking = 'accept' | 'at-once' | 'cut-before' | 'cut-after' | 'hang-after' | { status: number; wait?: string };
/** `standing`: running, and it does not say how far it is. */
type Told = 'running' | 'standing' | 'done' | 'failed' | 'hang' | number;
/** A path below `/results`, or a whole address. `inline`: the bytes come with the answer. */
type Result =
  | 'picture'
  | 'inline'
  | 'film'
  | 'sound'
  | 'page'
  | 'gone'
  | 'stumbles'
  | 'stalls'
  | 'hangs'
  | 'large'
  | `http${string}`
  | `picture?${string}`;

export interface Plan {
  submit?: Taking | readonly Taking[];
  /** Answers of polls, in their order; the last one stays. */
  polls?: readonly Told[];
  /** Statuses of the answers to being told to stop, in their order; 200 after them. */
  stops?: readonly number[];
  results?: readonly Result[];
  segments?: readonly { from: number; to: number; text: string }[];
  /** Told with the result, in millionths of a dollar. */
  micros?: number;
}
/** A job that the maker has taken, and will bill. */
export interface TakenJob {
  id: string;
  key: string;
  prompt: string;
  body: Record<string, unknown>;
  polls: number;
  cancels: number;
  failed: boolean;
}

const Started = z.object({ id: z.string(), results: z.array(z.string()).optional(), micros: z.number().optional() });
const Polled = z.object({
  state: z.enum(['running', 'done', 'failed']),
  progress: z.number().optional(),
  results: z.array(z.string()).default([]),
  segments: z.array(z.object({ from: z.number(), to: z.number(), text: z.string() })).optional(),
  micros: z.number().optional(),
});

/** Results that came with an answer and were not discarded yet. */
export const inlineResults = new Set<object>();

interface Kind {
  /** Without it a lost submit cannot be looked up. */
  find?: boolean;
  cancel?: boolean;
  rhythm?: { everyMs: number; mostMs: number };
}

function inline(url: string): MediaOutput {
  const file = base64File('image/png').parse(url);
  const output: MediaOutput = {
    kind: 'image',
    ...file,
    discard: async () => void inlineResults.delete(output),
    async *open() {
      if (!inlineResults.has(output)) throw new Error('The result was discarded');
      yield* file.open();
    },
  };
  inlineResults.add(output);
  return output;
}

/** An adapter of the maker by this id. */
export function makerAdapter(id: string, { find = true, cancel = true, rhythm }: Kind = {}): MediaAdapter {
  const resultsOf = (
    { results, micros }: { results: readonly string[]; micros?: number | undefined },
    kind: 'image',
  ) => ({
    outputs: results.map((url) => (url.startsWith('data:') ? inline(url) : { kind, url })),
    usage: {},
    ...(micros !== undefined && { cost: { micros, source: 'reply' as const } }),
  });
  return media({
    id,
    version: 'v1',
    title: `Maker ${id}`,
    description: 'Makes what a test plans.',
    website: 'https://maker.example',
    status: 'active',
    authType: 'api_key',
    credentials: { apiKey: secret('API key') },
    api: `https://${id}.example`,
    auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
    models: {
      'pixel-1': { image: { sizes: ['64x48', '48x64'], promptLength: 200, count: 2 } },
      'pixel-2': { image: { promptLength: 200 } },
      'clip-1': {
        video: { ratios: ['16:9', '9:16'], seconds: [5, 10], promptLength: 200, sources: sentFiles(0, 1, 'image') },
      },
      'again-1': { upscale: { prompt: 'optional', sources: sentFiles(1, 1, 'image', 'video') } },
      'say-1': { speech: { voices: ['ann', 'ben'], promptLength: 100 } },
      'hear-1': { transcription: { prompt: 'none', languages: true, sources: sentFiles(1, 1, 'video', 'audio') } },
    },
    actions: {
      avatar: { promptLength: 200, options: { avatarId: { label: 'Avatar', required: true, tool: 'avatars' } } },
    },
    rhythm: rhythm ?? { everyMs: 20, mostMs: 600_000 },
    connect: ({ http }) => ({
      async start({ sources, operation, ...request }) {
        const {
          id: job,
          results,
          micros,
        } = await http.post('/jobs', Started, {
          creates: true,
          json: {
            ...request,
            operation,
            files: sources.map(({ name, size, seconds, mostSeconds }) => ({ name, size, seconds, mostSeconds })),
          },
        });
        return results
          ? { state: 'done', ...resultsOf({ results, micros }, 'image') }
          : { state: 'running', handle: { job } };
      },
      async poll({ job }) {
        const { state, progress, segments, ...done } = await http.get(`/jobs/${job}`, Polled);
        switch (state) {
          case 'running':
            return { state, ...(progress !== undefined && { progress }) };
          case 'failed':
            return { state, failure: 'rejected', message: 'The content was refused' };
          case 'done':
            return { state, ...resultsOf(done, 'image'), ...(segments && { segments }) };
        }
      },
      ...(cancel && { cancel: async ({ job }) => void (await http.post(`/jobs/${job}/cancel`, z.unknown())) }),
      ...(find && {
        find: async ({ key }) => {
          const found = await http.find('/jobs', Started, { query: { key } });
          return found && { job: found.id };
        },
      }),
      tools: {
        avatars: async () => http.get('/avatars', z.array(z.object({ id: z.string(), label: z.string() }))),
      },
    }),
    check: async () => 'The key is accepted',
  });
}

/** The maker: one server for all of its adapters, which takes jobs and bills each that does not fail. */
export async function startMaker(ids: readonly string[] = ['maker']) {
  const plans = new Map<string, Plan>();
  const jobs = new Map<string, TakenJob>();
  /** Submits as they came, taken or not, by prompt. */
  const submits: string[] = [];
  const downloads: string[] = [];
  const held = new Set<ServerResponse>();
  const small = await picture(64, 48);
  let url = '';
  let n = 0;
  let fetches = 0;
  let stalls = 0;
  let isReleased = false;

  const answer = (response: ServerResponse, status: number, json: unknown, headers = {}) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(json));
  const resultsOf = ({ results = ['picture'], micros }: Plan) => ({
    results: results.map((one) => {
      if (one === 'inline') return `data:image/png;base64,${Buffer.from(small).toString('base64')}`;
      return one.startsWith('http') ? one : `${url}/results/${one}`;
    }),
    ...(micros !== undefined && { micros }),
  });

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse(await text(request)) as Record<string, unknown>;
    const prompt = String(body['prompt'] ?? '');
    const plan = plans.get(prompt) ?? {};
    const list = [plan.submit ?? 'accept'].flat() as Taking[];
    const before = submits.filter((one) => one === prompt).length;
    submits.push(prompt);
    const taking = list[Math.min(before, list.length - 1)]!;
    if (taking === 'cut-before') return void request.socket.destroy();
    if (typeof taking === 'object')
      return answer(response, taking.status, { error: 'not now' }, taking.wait ? { 'retry-after': taking.wait } : {});
    const id = `job-${(n += 1)}`;
    jobs.set(id, { id, key: String(body['key']), prompt, body, polls: 0, cancels: 0, failed: false });
    if (taking === 'cut-after') return void request.socket.destroy();
    if (taking === 'hang-after') return void held.add(response);
    answer(response, 201, { id, ...(taking === 'at-once' && resultsOf(plan)) });
  }

  function poll(job: TakenJob, response: ServerResponse): void {
    const plan = plans.get(job.prompt) ?? {};
    const list = plan.polls ?? ['done'];
    const told = list[Math.min(job.polls, list.length - 1)]!;
    job.polls += 1;
    if (told === 'hang') return void held.add(response);
    if (typeof told === 'number') return answer(response, told, { error: 'not now' });
    job.failed = told === 'failed';
    answer(response, 200, {
      state: told === 'standing' ? 'running' : told,
      ...(told === 'running' && { progress: 10 * job.polls }),
      ...(told === 'done' && { ...resultsOf(plan), ...(plan.segments && { segments: plan.segments }) }),
    });
  }

  function serve(path: string, response: ServerResponse): void {
    downloads.push(path);
    const bytes = (type: string, body: Uint8Array) =>
      void response.writeHead(200, { 'content-type': type, 'content-length': body.length }).end(body);
    switch (path) {
      case 'picture':
        return bytes('image/png', small);
      case 'film':
        return bytes('video/mp4', HEADS['mp4']!);
      case 'sound':
        return bytes('audio/mpeg', HEADS['mp3']!);
      case 'page':
        return bytes('image/png', Buffer.from('<!doctype html><title>Log in</title>'));
      case 'large':
        response.writeHead(200, { 'content-type': 'image/png' });
        return void response.end(Buffer.concat([small, Buffer.alloc(2_000_000)]));
      case 'stalls': // once; then it is there
        stalls += 1;
        return stalls === 1 ? void held.add(response) : bytes('image/png', small);
      case 'hangs': // until it is released; then it is there
        return isReleased ? bytes('image/png', small) : void held.add(response);
      case 'stumbles':
        fetches += 1;
        return fetches === 1 ? void response.writeHead(503).end() : bytes('image/png', small);
      default:
        return void response.writeHead(403).end();
    }
  }

  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://maker');
    const [, first, id = '', act] = pathname.split('/');
    const job = jobs.get(id);
    if (first === 'results') return serve(id, response);
    if (first === 'avatars') return answer(response, 200, [{ id: 'a1', label: 'Ann' }]);
    if (request.method === 'POST' && id === '') return void take(request, response);
    if (act === 'cancel' && job) {
      const status = plans.get(job.prompt)?.stops?.[job.cancels] ?? 200;
      job.cancels += 1;
      return answer(response, status, {});
    }
    if (id === '') {
      const found = [...jobs.values()].find(({ key }) => key === searchParams.get('key'));
      return found ? answer(response, 200, { id: found.id }) : answer(response, 404, {});
    }
    return job ? poll(job, response) : answer(response, 404, {});
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    url,
    servers: Object.fromEntries(ids.map((id) => [`media/${id}`, url])),
    /** What comes of jobs with this prompt. */
    plan: (prompt: string, plan: Plan) => void plans.set(prompt, plan),
    submits: (prompt: string) => submits.filter((one) => one === prompt).length,
    jobs: (prompt: string) => [...jobs.values()].filter((job) => job.prompt === prompt),
    all: jobs,
    downloads,
    /** Answers nothing to whoever waits: their connections end. */
    release() {
      isReleased = true;
      for (const response of held) response.destroy();
      held.clear();
    },
    get held() {
      return held.size;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
export type Maker = Awaited<ReturnType<typeof startMaker>>;

/** Prices of the maker's models in US dollars. */
export const MAKER_PRICES = {
  'pixel-1': { perImage: 0.04 },
  'pixel-2': { perImage: 0.05 },
  'clip-1': { perSecond: 0.1 },
  'again-1': { perCall: 0.02 },
  'say-1': { characters: 100 },
  'hear-1': { perCall: 0.01 },
  avatar: { perCall: 0.5 },
};
