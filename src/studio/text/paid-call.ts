import type { Database, Sql } from '../../platform/db/index.ts';
import { AppError, type Clock, newId, ProviderError } from '../../platform/kernel/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import type { Ai, Cost, Providers, TextAnswer, TextEvent, TextRequest } from '../../providers/registry/index.ts';
import type { Budget, CallKey } from '../budget/index.ts';
import type { AiCandidate } from '../models/index.ts';

export interface PaidCallDeps {
  sql: Database;
  clock: Clock;
  log: Log;
  budget: Pick<Budget, 'reserve' | 'settle' | 'release'>;
  providers: Pick<Providers, 'ai'>;
}
/** Who asks. */
export interface Asker {
  orgId: string;
  userId: string;
}

/** A request to one provider, before the model is known. */
export type Prompt = Omit<TextRequest, 'model'>;

/** A call at a provider that money is reserved for. It is settled once, however it ends. */
interface PaidCall {
  ai: Ai;
  request: TextRequest;
  /** A cost that the provider has not told, and can be asked for, is marked, and corrected later. */
  settle(cost: Cost | undefined): Promise<void>;
  /** Gives the money back where the failure says that nothing was done, else settles by the estimate, and marks it. */
  fail(error: unknown, ended: AbortSignal): Promise<void>;
}

/** Reserves the greatest cost of a call. */
async function begin(
  deps: PaidCallDeps,
  { orgId, userId }: Asker,
  { adapter, use, model, settingId }: AiCandidate,
  prompt: Prompt,
  signal: AbortSignal,
): Promise<PaidCall> {
  const { sql, budget, providers } = deps;
  signal.throwIfAborted();
  const ai = providers.ai(adapter, use);
  const later = { settingId, callIds: [] as string[] };
  const request = { ...prompt, model, ...(ai.costOf && { named: (id: string) => void later.callIds.push(id) }) };
  const key: CallKey = { orgId, ref: newId() };
  const micros = ai.estimate(request)?.micros;
  await sql.begin((tx) => budget.reserve(tx, { ...key, userId, domain: 'ai', providerId: adapter.id, model, micros }));
  return {
    ai,
    request,
    settle: (cost) => book(deps, key, (tx) => budget.settle(tx, key, cost, { later })),
    fail: (error, ended) =>
      book(deps, key, (tx) =>
        !ended.aborted && costsNothing(error)
          ? budget.release(tx, key)
          : budget.settle(tx, key, undefined, { marked: true, later }),
      ),
  };
}

const MOST_TRIES = 6;
/**
 * Books how a call has ended. An answer is paid for, and a failure has its reason: what cannot be booked takes neither
 * from whoever asks. It is tried again for half a minute behind the answer; then the reservation ends by its estimate.
 */
async function book(
  { sql, clock, log }: Pick<PaidCallDeps, 'sql' | 'clock' | 'log'>,
  { orgId, ref }: CallKey,
  entry: (tx: Sql) => Promise<void>,
): Promise<void> {
  async function isBooked(tries: number): Promise<boolean> {
    try {
      await sql.begin(entry);
      return true;
    } catch (error) {
      log.warn({ err: error, orgId, ref, tries }, 'a paid call could not be settled, tried again or by its estimate');
      return false;
    }
  }
  if (await isBooked(1)) return;
  void (async () => {
    for (let tries = 2; tries <= MOST_TRIES; tries += 1) {
      await clock.sleep(1_000 * 2 ** (tries - 2));
      if (await isBooked(tries)) return;
    }
  })();
}

/** What the guard of this service refuses was not sent. */
const costsNothing = (error: unknown): boolean =>
  error instanceof ProviderError ? error.failure !== 'lost' : error instanceof AppError;

/** One answer, paid for. */
export async function answered(
  deps: PaidCallDeps,
  asker: Asker,
  candidate: AiCandidate,
  prompt: Prompt,
  signal: AbortSignal,
): Promise<TextAnswer> {
  const call = await begin(deps, asker, candidate, prompt, signal);
  const answer = await call.ai.text(call.request, signal).catch(async (error: unknown) => {
    await call.fail(error, signal);
    throw error;
  });
  await call.settle(answer.cost);
  return answer;
}

/**
 * Begins a streamed answer; resolves with its first event. Leaving the loop, as the signal does, ends the call at the
 * provider and settles it.
 */
export async function streamed(
  deps: PaidCallDeps,
  asker: Asker,
  candidate: AiCandidate,
  prompt: Prompt,
  signal: AbortSignal,
): Promise<AsyncIterable<TextEvent>> {
  const call = await begin(deps, asker, candidate, prompt, signal);
  const left = new AbortController();
  const ended = AbortSignal.any([signal, left.signal]);
  const events = call.ai.stream(call.request, ended)[Symbol.asyncIterator]();
  const first = await events.next().catch(async (error: unknown) => {
    await call.fail(error, ended);
    throw error;
  });

  return (async function* () {
    let isSettled = false;
    let failure: unknown;
    try {
      for (let next = first; !next.done; next = await events.next()) {
        if (next.value.type === 'done') {
          isSettled = true;
          await call.settle(next.value.cost);
        }
        yield next.value;
      }
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      left.abort();
      // text came, so something was done, whatever the failure says
      if (!isSettled) await call.fail(failure, ended);
      await events.return?.().catch(() => undefined); // its own end is nobody's concern any more
    }
  })();
}
