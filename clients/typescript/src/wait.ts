import type { components } from './schema.gen.ts';
import type { Clock } from './transport.ts';

export type PostWithThread = components['schemas']['PublicPostWithThread'];

export interface WaitOptions {
  /** Gives up after so long: 10 minutes past the date of the post unless told. */
  timeoutMs?: number;
  signal?: AbortSignal;
  /** Told each state that the post comes to. */
  onChange?: (post: PostWithThread) => void;
}

/** The post came to no end in time. */
export class WaitTimeoutError extends Error {
  override readonly name = 'WaitTimeoutError';
  readonly post: PostWithThread;

  constructor(post: PostWithThread) {
    super(`The post is still ${post.detail ?? post.state}`);
    this.post = post;
  }
}

const FIRST_MS = 500;
const LONGEST_MS = 15_000;
/** Before its date a post is looked at seldom, but its date may be moved. */
const BEFORE_MS = 5 * 60_000;
const PAST_DATE_MS = 10 * 60_000;

/** Answers the post once it is published, has failed, or is a draft that goes out no more by itself. */
export async function waitForEnd(
  read: () => Promise<PostWithThread>,
  clock: Clock,
  { timeoutMs, signal, onChange }: WaitOptions = {},
): Promise<PostWithThread> {
  const started = clock.now();
  let told: string | undefined;
  let pauseMs = FIRST_MS;
  for (;;) {
    const post = await read();
    const now = clock.now();
    const state = `${post.state} ${post.detail}`;
    if (state !== told) onChange?.(post);
    told = state;
    if (post.state !== 'QUEUE') return post;
    const date = new Date(post.publishDate).getTime();
    const end = timeoutMs === undefined ? Math.max(started, date) + PAST_DATE_MS : started + timeoutMs;
    if (now >= end) throw new WaitTimeoutError(post);
    const ahead = date - now;
    const wanted = ahead > pauseMs ? Math.min(ahead, BEFORE_MS) : pauseMs;
    if (ahead <= pauseMs) pauseMs = Math.min(pauseMs * 1.5, LONGEST_MS);
    await clock.sleep(Math.min(wanted, end - now), signal);
  }
}
