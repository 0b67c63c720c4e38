import { AppError, ProviderError } from '../../../platform/kernel/index.ts';
import { checkFiles, checkReach, type Issue, type Media } from '../../../providers/registry/index.ts';
import type { Connected } from '../channels-port.ts';
import { clean, type Failure, failureBefore } from './answers.ts';
import type { ClaimedPost } from './attempt.ts';
import { type Files, filesOf, limitsOfPost, type Ready, type SenderDeps } from './calls.ts';
import type { Work } from './work.ts';

/** The channel, the files and the links of a post. Whatever fails here may be tried again: nothing has left. */
export async function makeReady(
  deps: SenderDeps,
  { claimed, ended }: Pick<Work, 'claimed' | 'ended'>,
): Promise<Ready | Failure> {
  let connected: Connected;
  try {
    connected = await deps.channels.connect(claimed.orgId, claimed.channelId, claimed.channel, ended.signal);
  } catch (error) {
    if (error instanceof AppError && !(error instanceof ProviderError) && error.status < 500)
      return { kind: 'unsupported', message: clean(error.message) }; // the provider's version was retired
    return before(deps, error, 'the channel could not be opened');
  }
  let loaded: Files;
  try {
    loaded = await filesOf(deps, claimed, ended.signal);
    const { files } = loaded;
    const issue = files.length > 0 ? fileFault(deps, claimed, connected, files) : undefined;
    if (issue) return { kind: 'rejected', message: issue.message, mediaFault: true };
  } catch (error) {
    return { ...before(deps, error, 'the media could not be loaded'), mediaFault: true };
  }
  try {
    const isDecided = claimed.links.every(({ decided }) => decided);
    const links = isDecided ? claimed.links : await deps.links.decide(claimed.orgId, claimed.postId);
    return { connected, ...loaded, links };
  } catch (error) {
    return before(deps, error, 'its links could not be decided');
  }
}

/** Why the network would not take these files, or could not fetch them; a file from outside is known only now. */
function fileFault(
  deps: SenderDeps,
  claimed: ClaimedPost,
  { social }: Connected,
  files: readonly Media[],
): Issue | undefined {
  const limits = limitsOfPost(deps, claimed);
  // where servers differ the adapter asks its own
  const issues = social.channelLimits ? [] : checkFiles(limits, files);
  return [...issues, ...checkReach(limits, files)][0];
}

function before({ log }: Pick<SenderDeps, 'log'>, error: unknown, what: string): Failure {
  const known = failureBefore(error);
  if (known) return known;
  log.error({ err: error }, what);
  return { kind: 'unavailable', message: 'Something went wrong on our side before the post was sent' };
}
