import type { Address, Engine } from '../../../src/platform/actor-runtime/index.ts';
import { AppError } from '../../../src/platform/kernel/index.ts';
import { noEngine } from '../worlds/app.ts';
import { type Receiver, startReceiver } from '../wire/receiver.ts';

// The embedded engine is one process. Others reach its actors here as replicas reach those on Dapr: by a call.

interface ActorCall {
  to: Address;
  method: string;
  input: unknown;
}
interface ActorAnswer {
  value?: unknown;
  error?: { code: ConstructorParameters<typeof AppError>[0]; message: string };
}

/** Hands the calls of other processes to the actors of this one. */
export const lendActors = (engine: Pick<Engine, 'invoke'>): Promise<Receiver> =>
  startReceiver({
    async answer(response, { body }) {
      const { to, method, input } = JSON.parse(body.toString()) as ActorCall;
      const answer: ActorAnswer = await engine.invoke(to, method, input).then(
        (value) => ({ value }),
        (error: unknown) => ({
          error:
            error instanceof AppError
              ? { code: error.code, message: error.message }
              : { code: 'internal', message: String(error) },
        }),
      );
      response.end(JSON.stringify(answer));
    },
  });

/** The engine of a process whose actors are in another one. */
export const actorsAt = (url: string): typeof noEngine => ({
  ...noEngine,
  engine: {
    ...noEngine.engine,
    async invoke(to, method, input) {
      const call: ActorCall = { to, method, input };
      const response = await fetch(url, { method: 'POST', body: JSON.stringify(call) });
      const { value, error } = (await response.json()) as ActorAnswer;
      if (error) throw new AppError(error.code, error.message);
      return value;
    },
  },
});
