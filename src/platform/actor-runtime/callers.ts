import { AppError, asAppError, type ErrorCode, parse } from '../kernel/index.ts';
import { addressKey } from './address.ts';
import { type ActorContract, type Actors, type Method, nothing } from './contract.ts';
import type { Address, Engine, SettledCall } from './engine.ts';
import { openBatcher } from '../flow/index.ts';

interface Waiting {
  input: unknown;
  bytes: number;
  resolve(answer: unknown): void;
  reject(error: unknown): void;
}

/** An answer that breaks the contract is our own fault, never the caller's. */
function read(method: Method, answer: unknown): unknown {
  if (method.output === nothing) return undefined;
  try {
    return parse(method.output, answer);
  } catch (cause) {
    throw asAppError(new Error('An actor answered what its contract does not allow', { cause }));
  }
}

/**
 * The typed way to any actor over an engine. Concurrent calls of a batched method to one actor collect while one is
 * under way, and travel together.
 */
export function actorsOf(engine: Engine): Actors {
  /** One batch under way at a time for each actor and method: what arrives meanwhile is the next one. */
  const lines = new Map<string, (one: Waiting) => void>();

  async function send(to: Address, name: string, method: Method, batch: readonly Waiting[]): Promise<void> {
    try {
      const answers = (await engine.invoke(
        to,
        name,
        batch.map(({ input }) => input),
      )) as readonly SettledCall[];
      batch.forEach((caller, n) => {
        const answer = answers[n];
        try {
          if (!answer)
            throw asAppError(new Error(`${to.type}.${name} answered ${answers.length} of ${batch.length} inputs`));
          if (!answer.ok) throw AppError.fromJSON(answer.error as { code: ErrorCode; message: string });
          caller.resolve(read(method, answer.value));
        } catch (error) {
          caller.reject(error);
        }
      });
    } catch (error) {
      for (const caller of batch) caller.reject(error);
    }
  }

  function lineOf(to: Address, name: string, method: Method, max: number): (one: Waiting) => void {
    const key = `${addressKey(to.type, to.id)} ${name}`;
    const known = lines.get(key);
    if (known) return known;
    const line = openBatcher<Waiting>({
      send: (batch) => send(to, name, method, batch),
      max,
      weigh: ({ bytes }) => bytes,
      heaviest: engine.batchBytes ?? Infinity,
      onIdle: () => lines.delete(key),
    });
    lines.set(key, line);
    return line;
  }

  const callOf = (to: Address, name: string, method: Method) => {
    const { batched } = method;
    if (batched)
      return (input: unknown) => {
        const bytes = engine.batchBytes === undefined ? 0 : Buffer.byteLength(JSON.stringify(input) ?? '');
        return new Promise((resolve, reject) =>
          lineOf(to, name, method, batched.max)({ input, bytes, resolve, reject }),
        );
      };
    return async (input: unknown) => read(method, await engine.invoke(to, name, input));
  };

  /** A plain object with the contract's methods and nothing else, so that awaiting one by mistake calls nobody. */
  return ((contract: ActorContract, id: string) => {
    const to = { type: contract.type, id };
    const caller: Record<string, (input: unknown) => Promise<unknown>> = {};
    for (const name in contract.methods) caller[name] = callOf(to, name, contract.methods[name]!);
    return caller;
  }) as Actors;
}
