import type { Job } from './_job.ts';

/** Places in results of a queue, whatever its model makes. */
const OUTPUTS = ['images.*.url', 'image.url', 'video.url', 'videos.*.url', 'audio.url', 'audio_file.url', 'audio_url'];

/**
 * A queue that answers the addresses of a request: for its state, its result and its end. The result is read by a call
 * of its own, which fails where the job did, although its state says that it was completed.
 */
export const queueOfAddresses = (job: Pick<Job, 'submit' | 'bill' | 'callback'>): Job => ({
  ...job,
  id: 'request_id',
  keeps: { poll: 'status_url', answer: 'response_url', stop: 'cancel_url' },
  poll: { at: 'poll' },
  result: { path: { at: 'answer' }, judges: true, ...(job.bill && { headers: ['x-fal-billable-units'] }) },
  outputs: OUTPUTS,
  error: ['detail', 'detail.*.type', 'detail.*.msg'],
  failures: [[/content_policy_violation|nsfw|safety/i, 'rejected']],
  cancel: { method: 'put', path: { at: 'stop' } },
});

/** A queue that is asked at paths below `/requests`, and answers the result with the state. */
export const queueOfRequests = (job: Pick<Job, 'submit' | 'callback'>): Job => ({
  ...job,
  id: 'request_id',
  poll: '/requests/{id}/status',
  outputs: OUTPUTS,
  error: ['error', 'detail'],
  cancel: { method: 'post', path: '/requests/{id}/cancel' },
});
