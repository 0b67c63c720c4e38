import { LimiterClosed, openLimiter } from '../../../platform/flow/index.ts';
import { AppError, ProviderError } from '../../../platform/kernel/index.ts';
import { checkFiles, checkReach, type Issue, type Media } from '../../../providers/registry/index.ts';
import type { Connected } from '../ports.ts';
import { clean, type Failure, failureBefore } from './answers.ts';
import { askNetwork } from './ask.ts';
import type { ClaimedPost, AttemptOutcome } from './attempt.ts';
import { type Files, filesOf, limitsOf, type Ready, type SenderDeps, type SenderOptions } from './calls.ts';
import { NotSent, publish } from './publish.ts';
import { openWorks, type Work } from './work.ts';

export interface Sender {
  /** Fresh token, place, adapter. A provider's failure is an outcome, never an exception. */
  send(claimed: ClaimedPost): Promise<AttemptOutcome>;
  /**
   * Asks the network for a post whose answer was lost, or that it still works on; waits for its turn among the
   * look-ups.
   */
  lookUp(claimed: ClaimedPost, about: 'unconfirmed' | 'processing'): Promise<AttemptOutcome>;
  /** From now on nothing is sent. */
  close(): void;
  underWay(): readonly Work[];
  readonly closed: boolean;
  readonly inFlight: number;
  readonly waiting: number;
  [Symbol.dispose](): void;
}

/** Sends what was claimed, beside the turns. Every wait of it is bounded. */
export function openSender(options: SenderOptions): Sender {
  const { inFlight, perLane, lookUps } = options;
  const limiter = openLimiter({ total: inFlight, perLane, perOwner: 'share' });
  const lookUpLimiter = openLimiter({ total: lookUps.inAll, perLane: lookUps.perLane, perOwner: 'share' });
  const works = openWorks(options);
  let closed = false;
  const deps: SenderDeps = { ...options, limiter, lookUpLimiter, works, isClosed: () => closed };

  return {
    get closed() {
      return closed;
    },
    get inFlight() {
      return limiter.inFlight;
    },
    get waiting() {
      return limiter.waiting;
    },
    underWay: () => [...works.all],
    close() {
      closed = true;
      limiter.close();
      lookUpLimiter.close();
    },
    async send(claimed) {
      const work = works.begin(claimed);
      try {
        const ready = await makeReady(deps, work);
        return 'kind' in ready ? ready : await publish(deps, work, ready);
      } catch (error) {
        if (error instanceof NotSent || error instanceof LimiterClosed) return { kind: 'not-sent' };
        throw error;
      } finally {
        works.end(work);
      }
    },
    lookUp: (claimed, about) => askNetwork(deps, claimed, about),
    [Symbol.dispose]: () => works[Symbol.dispose](),
  };
}

/** The channel, the files and the links of a post. Whatever fails here may be tried again: nothing has left. */
async function makeReady(deps: SenderDeps, { claimed, ended }: Work): Promise<Ready | AttemptOutcome> {
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
    const outcome = before(deps, error, 'the media could not be loaded');
    return outcome.kind === 'rejected' ? { ...outcome, mediaFault: true } : outcome;
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
  const limits = limitsOf(deps, claimed);
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
