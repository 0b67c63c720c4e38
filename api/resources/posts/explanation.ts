import type { PostRow } from '../../../src/publishing/posts/index.ts';

/** What a failure means and what helps, by its kind (S102); `again`: whether trying again is safe. */
export interface Explanation {
  summary: string;
  suggestion: string;
  again: boolean;
}

const KINDS: Readonly<Record<string, Explanation>> = {
  rate_limited: {
    summary: 'The network takes no more posts of this channel for now.',
    suggestion: 'Wait, then retry the post, or give it a later date.',
    again: true,
  },
  auth_expired: {
    summary: 'The network no longer accepts the login of the channel.',
    suggestion: 'A person must connect the channel again; then retry the post.',
    again: true,
  },
  validation: {
    summary: 'The network refuses this content.',
    suggestion: 'Change the post by the words of the network and by `channel_schema`, then retry it.',
    again: false,
  },
  duplicate_content: {
    summary: 'The network has a post with this content already.',
    suggestion: 'Change the text, then retry the post.',
    again: false,
  },
  billing_required: {
    summary: 'A quota or a plan is used up, at the network or here.',
    suggestion: 'A person must see to the plan of the account; then retry the post.',
    again: true,
  },
  network: {
    summary: 'The network could not be reached.',
    suggestion: 'Retry the post: nothing was published.',
    again: true,
  },
  server_error: {
    summary: 'The network answered with a fault of its own.',
    suggestion: 'Retry the post later.',
    again: true,
  },
  media_processing: {
    summary: 'The files of the post could not be prepared or processed.',
    suggestion: 'Replace the files by ones that `channel_schema` allows, then retry the post.',
    again: false,
  },
  unsupported: {
    summary: 'The network does not offer what the post asks for.',
    suggestion: 'Change the settings or the kind of the post, then retry it.',
    again: false,
  },
  unconfirmed: {
    summary: 'The answer of the network was lost: the post may be out.',
    suggestion: 'Look at the network first. Retry it only when a person has confirmed that it is not there.',
    again: false,
  },
  missed: {
    summary: 'The post was not published when it was due.',
    suggestion: 'Give it a new date.',
    again: true,
  },
};
const UNKNOWN: Explanation = {
  summary: 'The post failed for a reason that is not known.',
  suggestion: 'Read its timeline; then retry it.',
  again: true,
};
const WAITING: Explanation = {
  summary: 'The attempt failed, and the post is tried again by itself.',
  suggestion: 'Wait: its timeline says when it is tried next.',
  again: false,
};
const PAUSED: Explanation = {
  summary: 'The post has not failed: it is paused, by a person, a campaign, or its channel.',
  suggestion: 'Connect or enable its channel, or resume what is paused; its timeline names it. It then goes out.',
  again: false,
};
const NONE: Explanation = {
  summary: 'The post has not failed.',
  suggestion: 'Nothing is to be done.',
  again: false,
};

/** Says by rules why a post failed, and what to do. */
export function explanationOf({
  state,
  detail,
  errorKind,
}: Pick<PostRow, 'state' | 'detail' | 'errorKind'>): Explanation {
  if (state === 'ERROR') return KINDS[errorKind ?? ''] ?? UNKNOWN;
  if (detail === 'retrying') return WAITING;
  return detail === 'paused' ? (KINDS[errorKind ?? ''] ?? PAUSED) : NONE;
}
