import { z } from 'zod';
import type { LibraryFile } from '../../../src/library/media/index.ts';
import type { Permission } from '../../../src/people/access/index.ts';
import { notFound, parse } from '../../../src/platform/kernel/index.ts';
import { MEDIA_OPERATIONS } from '../../../src/providers/registry/index.ts';
import { FORMS, type NewMedia, type ShownJob } from '../../../src/studio/media-jobs/index.ts';
import { collect } from '../../http/body.ts';
import { keptAnswer } from '../../http/idempotency.ts';
import { ownOnly } from '../../http/own.ts';
import { payerOf } from '../../http/program.ts';
import { type AuthKind, type Call, routesOf } from '../../http/route.ts';
import { Job, MadeFile, presentJob, presentMade, presentTransform, presentVideoOption, VideoWay } from './job.shape.ts';

const route = routesOf('mediaJobs', 'media');

/** The longest time for which a request waits for its job; most proxies wait for a minute. */
const WAIT_MS = 50_000;
const words = z.string().trim().min(1).max(200);
/** What a model is asked for. */
export const prompt = z.string().trim().min(1).max(40_000); // what a model takes is no more
const provider = { providerId: words.optional(), version: words.optional(), model: words.optional() };
const values = {
  prompt: prompt.optional(),
  size: words.optional(),
  ratio: words.optional(),
  seconds: z.number().positive().max(86_400).optional(),
  count: z.int().min(1).max(100).optional(),
  voice: words.optional(),
  language: words.optional(),
  options: z.record(words, z.string().max(1_000)).optional(),
  sources: z.array(z.string().max(255)).max(100).optional(),
};

const Waiting = z.strictObject({ jobId: z.string() });
const STARTS = {
  method: 'post',
  auth: ['session'],
  permission: 'ai:create',
  limit: '30/minute',
  idempotent: true,
  creates: true,
  impersonation: 'allowed',
} as const;

/** RFC 7240: the client does not want to wait. */
const isAsync = (prefer: string | undefined): boolean =>
  (prefer ?? '').split(',').some((one) => one.split(';')[0]!.trim().toLowerCase() === 'respond-async');

type JobCall = Pick<Call<'mediaJobs'>, 'rooms' | 'principal' | 'request' | 'reply'> &
  Partial<Pick<Call<'mediaJobs'>, 'idempotency'>>;
/** A job that goes on, or one that has ended. */
export type Begun = { jobId: string } | { shown: ShownJob };

/** Starts a job and waits for it, unless the client does not want to or it lasts too long: then 202. */
export async function begin(
  { rooms, principal, request, reply, idempotency }: JobCall,
  wanted: NewMedia,
): Promise<Begun> {
  const { orgId } = principal;
  const payer = payerOf(principal);
  const { id } = await (idempotency // the answer may be lost while it waits
    ? rooms.mediaJobs.createOnce(payer, wanted, idempotency)
    : rooms.mediaJobs.create(payer, wanted));
  const isUnwaited = isAsync(request.headers['prefer']);
  if (isUnwaited) reply.header('Preference-Applied', 'respond-async');
  const shown = isUnwaited ? undefined : await rooms.mediaJobs.wait(orgId, id, { ms: WAIT_MS });
  if (shown) return { shown };
  reply.status(202);
  return { jobId: id };
}
/** The file of a job that makes one. Somebody may have deleted it since: 404. */
export function fileOf({ files: [file] }: ShownJob): LibraryFile {
  if (!file) throw notFound('The file that this job has made was deleted');
  return file;
}
const presentOne = (begun: Begun) => ('jobId' in begun ? begun : presentMade(fileOf(begun.shown)));
const presentAll = (begun: Begun) => ('jobId' in begun ? begun : begun.shown.files.map(presentMade));

const VideoValues = z.looseObject({ ...values, model: provider.model });

/** Values with those that `video-options` names `options.<name>` among `options`; a number or a boolean is one as text. */
function withOptions(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const named = Object.entries(given).filter(([key]) => key.startsWith('options.'));
  if (named.length === 0) return given;
  const options = named.map(([key, value]) => [
    key.slice('options.'.length),
    typeof value === 'number' || typeof value === 'boolean' ? String(value) : value,
  ]);
  return { ...given, options: { ...Object(given['options']), ...Object.fromEntries(options) } };
}

interface SentVideo {
  type: string;
  output?: (typeof FORMS)[number] | undefined;
  customParams: Readonly<Record<string, unknown>>;
}
/** Starts a video as `generate-video` does. */
export async function beginVideo(call: JobCall, { type, output, customParams }: SentVideo): Promise<Begun> {
  const named = { customParams: withOptions(customParams) };
  const { model, ...rest } = parse(z.strictObject({ customParams: VideoValues }), named).customParams;
  const given = Object.fromEntries(Object.entries(rest).filter(([name]) => name in values));
  const asked = { type, output, customParams: { ...given, model } };
  return begin(call, await call.rooms.mediaJobs.videoRequestOf(call.principal.orgId, asked));
}

/** Who may call a route of a dialect. */
interface Opens {
  auth: readonly [AuthKind, ...AuthKind[]];
  permission: Permission;
}
/** The video of both dialects. */
export const generateVideoRoute = (path: `/${string}`, opens: Opens) =>
  route({
    ...STARTS,
    ...opens,
    path,
    summary: 'Create a video',
    description:
      '`type` is an `identifier` of `video-options`. Of `customParams` these are used: `prompt`, `model`, `seconds`, ' +
      '`ratio`, `size`, `count`, `voice`, `language`, `sources` (ids of files) and `options`. 202 as for `generate-image`.',
    planLimit: 'video_exports',
    body: z.strictObject({
      type: words,
      output: z.enum(FORMS).optional(),
      customParams: VideoValues.default({}),
    }),
    answer: z.union([z.array(MadeFile), Waiting]),
    accepted: Waiting,
    handle: (call) => beginVideo(call, call.body),
    present: presentAll,
  });

const makingRoutes = (prefix: '/files' | '/media') => [
  route({
    ...STARTS,
    path: `${prefix}/generate-image`,
    summary: 'Create a picture',
    description: 'Waits for the picture; 202 with the id of its job with `Prefer: respond-async`, or after 50 seconds.',
    planLimit: 'storage_gb',
    body: z.strictObject({ prompt, size: words.optional(), ...provider }),
    answer: z.union([MadeFile, Waiting]),
    accepted: Waiting,
    handle: (call) => {
      const { prompt: text, size, ...wanted } = call.body;
      return begin(call, { ...wanted, operation: 'image', request: { prompt: text, size, sources: [] } });
    },
    present: presentOne,
  }),
  route({
    ...STARTS,
    path: `${prefix}/generate-image-with-prompt`,
    summary: 'Create a picture from a prompt alone',
    description: 'With the defaults of the organization. 202 as for `generate-image`.',
    planLimit: 'storage_gb',
    body: z.strictObject({ prompt }),
    answer: z.union([MadeFile, Waiting]),
    accepted: Waiting,
    handle: (call) => begin(call, { operation: 'image', request: { prompt: call.body.prompt, sources: [] } }),
    present: presentOne,
  }),
  generateVideoRoute(`${prefix}/generate-video`, { auth: ['session'], permission: 'ai:create' }),
  route({
    ...STARTS,
    path: `${prefix}/generate-voice`,
    summary: 'Create a voice over',
    description: 'Speaks the text. 202 as for `generate-image`.',
    planLimit: 'storage_gb',
    body: z.strictObject({ text: prompt, voice: words.optional(), language: words.optional(), ...provider }),
    answer: z.union([MadeFile, Waiting]),
    accepted: Waiting,
    handle: (call) => {
      const { text, voice, language, ...wanted } = call.body;
      return begin(call, {
        ...wanted,
        operation: 'speech',
        request: { prompt: text, voice, language, sources: [] },
        names: { prompt: 'text' },
      });
    },
    present: presentOne,
  }),
  route({
    ...STARTS,
    path: `${prefix}/captions`,
    summary: 'Create captions of a video or a sound',
    description: 'Answers the files as SubRip and WebVTT. 202 as for `generate-image`.',
    planLimit: 'storage_gb',
    body: z.strictObject({ fileId: z.string().max(255), language: words.optional(), ...provider }),
    answer: z.union([z.array(MadeFile), Waiting]),
    accepted: Waiting,
    handle: (call) => {
      const { fileId, language, ...wanted } = call.body;
      return begin(call, {
        ...wanted,
        operation: 'transcription',
        request: { language, sources: [fileId] },
        names: { 'sources.0': 'fileId' },
      });
    },
    present: presentAll,
  }),
];

const videoRoutes = (prefix: '/files' | '/media') => [
  route({
    method: 'get',
    path: `${prefix}/video-options`,
    summary: 'List ways to make a video',
    description:
      'By the providers that are set up for the organization. `tools` are the values of `customParams`, by the model that ' +
      'is taken unless another one is named; of each group of `anyOf` one must be given: a name of `tools`, or a kind ' +
      'of file among `sources`.',
    auth: ['session'],
    permission: 'ai:read',
    limit: '30/minute',
    answer: z.array(VideoWay),
    handle: ({ rooms, principal }) => rooms.mediaJobs.videoOptions(principal.orgId),
    present: (options) => options.map(presentVideoOption),
  }),
  route({
    method: 'get',
    path: `${prefix}/video-tools`,
    summary: 'List values of a video option',
    description: 'Such as voices or avatars: `tool` as `video-options` names it.',
    auth: ['session'],
    permission: 'ai:read',
    limit: '30/minute',
    query: z.object({ identifier: words, tool: words }),
    answer: z.array(z.strictObject({ id: z.string(), label: z.string() })),
    handle: ({ rooms, principal, query }) => rooms.mediaJobs.videoTool(principal.orgId, query),
    present: (listed) => listed.map(({ id, label }) => ({ id, label })),
  }),
];

/** A job of either kind: of a provider, or a change of a file that is made here; 404 for any other. */
export async function showJob(
  { rooms, principal }: Pick<Call<'mediaJobs' | 'media'>, 'rooms' | 'principal'>,
  id: string,
): Promise<z.input<typeof Job>> {
  const transform = await rooms.media.transforms.show(principal.orgId, id);
  return transform ? presentTransform(transform) : presentJob(await rooms.mediaJobs.show(principal.orgId, id));
}
const asShown = (job: z.input<typeof Job>) => job;

/** A job in both dialects. */
export const jobRoute = (path: `/${string}/:id`, opens: Opens) =>
  route({
    ...opens,
    method: 'get',
    path,
    summary: 'Get a media job',
    limit: '30/minute',
    answer: Job,
    handle: (call) => showJob(call, call.params.id),
    present: asShown,
  });

const runningRoutes = (prefix: '/files' | '/media') => [
  route({
    ...STARTS,
    path: `${prefix}/jobs`,
    summary: 'Start a media job',
    description: 'Any operation of a provider of media; `GET jobs/:id` tells how it goes on.',
    planLimit: 'storage_gb',
    body: z.strictObject({ operation: z.enum(MEDIA_OPERATIONS), ...provider, ...values }),
    accepted: 'always',
    answer: Job,
    async handle({ rooms, principal, body, idempotency }) {
      const { operation, providerId, version, model, sources = [], ...request } = body;
      const wanted = { operation, providerId, version, model, request: { ...request, sources } };
      const kept = keptAnswer(idempotency, 202, presentJob);
      const job = await rooms.mediaJobs.create(payerOf(principal), wanted, kept);
      return { job, files: [] };
    },
    present: presentJob,
  }),
  jobRoute(`${prefix}/jobs/:id`, { auth: ['session'], permission: 'ai:read' }),
  route({
    method: 'delete',
    path: `${prefix}/jobs/:id`,
    summary: 'Cancel a media job',
    description: 'One that runs is told to stop and counts with its estimated cost, as it may be billed.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'ai:create',
    limit: '30/minute',
    answer: Job,
    async handle(call) {
      const { rooms, principal, params } = call;
      const { orgId } = principal;
      const transform = await rooms.media.transforms.show(orgId, params.id);
      await ownOnly(principal, async () => (transform?.job ?? (await rooms.mediaJobs.get(orgId, params.id))).userId);
      if (transform) await rooms.media.transforms.cancel(transform.job);
      else await rooms.mediaJobs.cancel(orgId, params.id);
      return showJob(call, params.id);
    },
    present: asShown,
  }),
  route({
    method: 'post',
    path: `${prefix}/jobs/:id/settle`,
    summary: 'Set the cost of a media job of unknown outcome',
    description:
      'For a job whose `detail` is `unknown`: whether the provider has billed it, and how many cents. Without an ' +
      'amount the estimate stands. After seven days that happens by itself.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'settings:update',
    body: z.strictObject({ billed: z.boolean(), cents: z.number().min(0).max(1_000_000).optional() }),
    answer: Job,
    async handle({ rooms, principal, params, body: { billed, cents } }) {
      const micros = cents === undefined ? undefined : Math.round(cents * 10_000);
      await rooms.mediaJobs.settle(principal.orgId, params.id, { billed, micros });
      return rooms.mediaJobs.show(principal.orgId, params.id);
    },
    present: presentJob,
  }),
];

/** `/files/*` and `/media/*` are the same routes (S146). */
export const jobRoutes = (prefix: '/files' | '/media') => [
  ...makingRoutes(prefix),
  ...videoRoutes(prefix),
  ...runningRoutes(prefix),
];

/** What a provider sends with a callback is not looked at, and is no longer than this. */
const CALLBACK_BYTES = 1_000_000;

export const callbackRoute = route({
  method: 'post',
  path: '/files/jobs/callback/:token',
  summary: 'Receive news of a media job',
  description:
    'For providers: the job is asked for now, and nothing of what is sent is used. 404 for an unknown token.',
  auth: ['none'],
  limit: '6000/hour',
  limitBy: 'ip',
  input: 'stream',
  answer: z.strictObject({ received: z.literal(true) }),
  async handle({ rooms, params, request }) {
    await rooms.mediaJobs.hearCallback(params.token);
    await collect(request.stream, CALLBACK_BYTES);
  },
  present: () => ({ received: true as const }),
});
