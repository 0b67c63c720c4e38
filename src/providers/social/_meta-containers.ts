import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { QUOTA_MS } from '../kit/declare/waits.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Handle, Media, Polled, Post, Prepared, Published } from './_contract.ts';
import { codeInWords, failureInWords, Gone, Id } from './_meta-graph.ts';

// Instagram and Threads: a container is made of each file, processed, and published once by a call of its own.

const Saved = z
  .object({ children: z.array(z.string()).default([]), container: z.string().optional(), media: z.string().optional() })
  .catch({ children: [] });

/** How a network makes containers, and tells their state. */
export interface Containers {
  title: string;
  /** What is wrong with a container that failed, by the code that its words name. */
  reasons?: Readonly<Record<string, string>>;
  /** Is asked before the first container of a post. */
  check?: () => Promise<void>;
  make: (fields: object) => Promise<string>;
  state: (container: string) => Promise<{ code: string; words?: string | null | undefined }>;
  /** The fields of one file, or of a text without any, as a post of its own. */
  single: (file: Media | undefined) => Promise<object>;
  /** The fields of one file among several, and of the post that shows them. */
  child: (file: Media) => Promise<object>;
  parent: (children: readonly string[]) => object;
}
const POLL_MS = 10_000;

/** One step towards a container that can be published. */
export async function prepareContainer(
  containers: Containers,
  { post, saved, save }: { post: Post } & Pick<Handle, 'saved' | 'save'>,
): Promise<Prepared> {
  const state = Saved.parse(saved);
  if (state.media !== undefined) return 'ready';
  let { container } = state;
  if (container === undefined) {
    const children = [...state.children];
    if (children.length === 0) await containers.check?.();
    const [first, ...more] = post.media;
    if (more.length > 0) {
      const waits = await prepareChildren(containers, post.media, children, save);
      if (waits) return waits;
    }
    const fields = more.length > 0 ? containers.parent(children) : await containers.single(first);
    container = await containers.make(fields);
    await save({ children, container });
  }
  return (await waitFor(containers, container, save)) ?? 'ready';
}
/** Makes the children that are missing, and waits for videos among them. */
async function prepareChildren(
  containers: Containers,
  media: readonly Media[],
  children: string[],
  save: Handle['save'],
): Promise<Prepared | undefined> {
  for (const file of media.slice(children.length)) {
    children.push(await containers.make(await containers.child(file)));
    await save({ children });
  }
  for (const [n, file] of media.entries()) {
    const waits = file.kind === 'video' && (await waitFor(containers, children[n]!, save));
    if (waits) return waits;
  }
  return undefined;
}
/** Undefined: the container can be published. One that failed or expired is forgotten, so that a retry begins anew. */
async function waitFor(
  { title, reasons, state }: Containers,
  container: string,
  save: Handle['save'],
): Promise<Prepared | undefined> {
  const { code, words } = await state(container);
  if (code === 'IN_PROGRESS') return { againMs: POLL_MS };
  if (code !== 'ERROR' && code !== 'EXPIRED') return undefined;
  await save({});
  if (code === 'EXPIRED') return { againMs: 0 };
  const reason = reasons?.[codeInWords(words ?? '') ?? ''];
  const told = reason === undefined ? `: ${words ?? 'without a reason'}` : `. ${reason}`;
  throw refused(failureInWords(words ?? '') ?? 'rejected', `${title} could not process the post${told}`);
}

const Total = z.object({ quota_total: z.number() }).nullish();
const Quota = z.object({
  data: z.array(
    z.object({
      quota_usage: z.number().nullish(),
      config: Total,
      reply_quota_usage: z.number().nullish(),
      reply_config: Total,
    }),
  ),
});
/** Refuses one more of what the account may publish in 24 hours: the number differs by account. */
export async function checkQuota(
  http: Http,
  { title, path, of = 'posts' }: { title: string; path: string; of?: 'posts' | 'replies' },
): Promise<void> {
  const ofReplies = of === 'replies';
  const query = { fields: ofReplies ? 'reply_quota_usage,reply_config' : 'quota_usage,config' };
  const told = await http.find(path, Quota, { query, absent: Gone });
  if (!told) throw refused('reauthorize', `${title} does not show this account to the login any more`);
  for (const quota of told.data) {
    const used = ofReplies ? quota.reply_quota_usage : quota.quota_usage;
    const total = (ofReplies ? quota.reply_config : quota.config)?.quota_total;
    if (total !== undefined && (used ?? 0) >= total)
      throw refused('rate_limited', `${title} takes ${total} ${of} of this account in 24 hours`, QUOTA_MS);
  }
}

/** Publishes the container at `path`, and saves and answers what it became. */
export async function publishContainer(
  http: Http,
  path: string,
  { saved, save }: Pick<Handle, 'saved' | 'save'>,
): Promise<string> {
  const { container, media } = Saved.parse(saved);
  if (media !== undefined) return media;
  const { id } = await http.post(path, Id, { form: { creation_id: container }, creates: true });
  await save({ container, media: id });
  return id;
}
export const Linked = Id.extend({ permalink: z.url().nullish() });
export const published = ({ id, permalink }: z.output<typeof Linked>): Published => ({ id, url: permalink ?? '' });
export const readMedia = async (http: Http, id: string): Promise<Published> =>
  published(await http.get(`/${id}`, Linked, { query: { fields: 'id,permalink' } }));
/** The address of what was published: a failure to read it says nothing about the post. */
export const pollMedia = ({ http, saved }: { http: Http; saved: unknown }): Promise<Polled> =>
  readMedia(http, Saved.parse(saved).media!);

/**
 * What became of an attempt: a container that was published is among the newest media, which `list` reads. Nobody knows
 * while they do not show it.
 */
export async function findMedia(
  http: Http,
  { title, state }: Pick<Containers, 'title' | 'state'>,
  saved: unknown,
  list: () => Promise<readonly Published[]>,
): Promise<Published | readonly Published[] | undefined> {
  const { container, media } = Saved.parse(saved);
  if (media !== undefined) return readMedia(http, media);
  if (container === undefined || (await state(container)).code !== 'PUBLISHED') return undefined;
  const found = await list();
  if (found.length === 0) throw refused('unavailable', `${title} has published the post, and does not show it yet`);
  return found;
}
