import { z } from 'zod';
import type { Clock } from '../kit/declare/adapter.ts';
import { refused } from '../kit/declare/fallback.ts';
import type { Body } from '../kit/declare/media.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Connection, Handle, Media, Post, Prepared } from './_contract.ts';

const TOKEN_SECONDS = 1_800;
const POLL_MS = 2_000;
/** Hosts of the servers that Bluesky runs: its video service works for the accounts of others only sometimes. */
const RUN_BY_BLUESKY = /(?:^|\.)bsky\.(?:network|social)$/;

/** An uploaded file, as records embed it. */
const Blob = z.record(z.string(), z.unknown());
const Job = z.object({
  jobId: z.string(),
  state: z.string().nullish(),
  blob: Blob.nullish(),
  error: z.string().nullish(),
  message: z.string().nullish(),
});
/** As the lexicon says, and as the service answers an upload. */
const Status = z.union([z.object({ jobStatus: Job }).transform(({ jobStatus }) => jobStatus), Job]);
/** `job`: that of an uploaded video; `video`: what it became. */
const Saved = z.object({ job: z.string().optional(), video: Blob.optional() }).catch({});
export const savedVideo = (saved: unknown): z.output<typeof Saved> => Saved.parse(saved);

export async function uploadBlob({ http }: { http: Http }, bytes: Body): Promise<z.output<typeof Blob>> {
  const { blob } = await http.post('/com.atproto.repo.uploadBlob', z.object({ blob: Blob }), { bytes });
  return blob;
}

type Preparing = Pick<Connection, 'http' | 'hosts' | 'account' | 'hide'> &
  Pick<Handle, 'saved' | 'save'> & { clock: Clock; values: { service: string }; post: Post };

/** Takes the video of a post through the video service of Bluesky, which writes it to the server of the account. */
export async function prepareVideo(call: Preparing): Promise<Prepared> {
  const { post, values, saved, save } = call;
  const video = post.media.find(({ kind }) => kind === 'video');
  if (!video || !RUN_BY_BLUESKY.test(new URL(values.service).hostname)) return 'ready';
  const state = savedVideo(saved);
  if (state.video) return 'ready';
  const job = state.job === undefined ? await uploadVideo(call, video) : await askJob(call, state.job);
  if (job.state === 'JOB_STATE_FAILED')
    throw refused('rejected', `Bluesky cannot use the video: ${job.message ?? job.error ?? 'without a reason'}`);
  if (job.blob || job.jobId !== state.job) await save({ job: job.jobId, ...(job.blob && { video: job.blob }) });
  return job.blob ? 'ready' : { againMs: POLL_MS };
}

async function uploadVideo({ http, hosts, account, values, clock, hide }: Preparing, video: Media) {
  const { token } = await http.get('/com.atproto.server.getServiceAuth', z.object({ token: z.string() }), {
    query: {
      aud: `did:web:${encodeURIComponent(new URL(values.service).host)}`,
      lxm: 'com.atproto.repo.uploadBlob',
      exp: String(Math.floor(clock.now().getTime() / 1_000) + TOKEN_SECONDS),
    },
  });
  hide(token);
  return http.post(`${hosts['video']}/xrpc/app.bsky.video.uploadVideo`, Status, {
    query: { did: account, name: video.name },
    headers: { authorization: `Bearer ${token}` },
    bytes: video,
    accepts: [409], // the same video was uploaded before
  });
}

const askJob = ({ http, hosts }: Preparing, jobId: string) =>
  http.get(`${hosts['video']}/xrpc/app.bsky.video.getJobStatus`, Status, { query: { jobId } });
