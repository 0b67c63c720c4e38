import type { ActorContract, Actors, Caller, Hint, Turn } from '../../../src/platform/actor-runtime/index.ts';

interface Given<S, Memory> {
  state?: S;
  memory?: Memory;
  /**
   * What other actors, and the actor itself, answer: by `Type.method`. A function gets the input; what it throws is
   * thrown.
   */
  answers?: Readonly<Record<string, unknown>>;
}

/**
 * A turn without an engine: what the handler asked for is in `log`, hints in `hints`; `besides()` runs what it put
 * beside the turn.
 */
export function turnOf<C extends ActorContract, Needs, S = Record<string, never>, Memory = undefined>(
  contract: C,
  id: string,
  ctx: Needs,
  given: Given<S, Memory> = {},
) {
  const log: string[] = [];
  const hints: (Hint | undefined)[] = [];
  const work: ((self: Caller<C['methods']>) => Promise<void>)[] = [];
  const caller = (to: ActorContract, toId: string) =>
    Object.fromEntries(
      Object.keys(to.methods).map((method) => [
        method,
        async (input: unknown) => {
          log.push(`${to.type}/${toId}.${method} ${JSON.stringify(input)}`);
          const answer = given.answers?.[`${to.type}.${method}`];
          return typeof answer === 'function' ? (answer as (input: unknown) => unknown)(input) : answer;
        },
      ]),
    );
  const turn: Turn<C, S, Memory, Needs> = {
    id,
    ctx,
    actors: ((to: ActorContract, toId: string) => caller(to, toId)) as Actors,
    state: given.state ?? ({} as S),
    memory: given.memory as Memory,
    async remind(name, due, hint) {
      log.push(`remind ${name} ${due.toISOString()}`);
      hints.push(hint);
    },
    async remindOther(to, toId, name, due, hint) {
      log.push(`remind ${to.type}/${toId} ${name} ${due.toISOString()}`);
      hints.push(hint);
    },
    forget: async (name) => void log.push(`forget ${name}`),
    beside: (job) => void work.push(job),
  };
  /** Ends when everything beside the turn has ended, also what was put there meanwhile. */
  const besides = async (): Promise<void> => {
    for (let jobs = work.splice(0); jobs.length > 0; jobs = work.splice(0))
      await Promise.all(jobs.map((job) => job(caller(contract, id) as unknown as Caller<C['methods']>)));
  };
  return { turn, log, hints, besides };
}
