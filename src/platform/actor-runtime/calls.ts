import { AppError, asAppError, notFound, parse, validationFailed } from '../kernel/index.ts';
import { methodOf } from './activation.ts';
import type { Address } from './address.ts';
import type { Method } from './contract.ts';
import type { SettledCall } from './engine.ts';
import { enqueue } from './mailbox.ts';
import type { Hosted, Turns } from './turn-state.ts';
import { travelling } from './take-turn.ts';

type Handler = (input: unknown, turn: unknown) => Promise<unknown>;

const INTERNAL = asAppError(undefined).message;

const handlerOf = ({ implementation }: Hosted, name: string) => implementation.spec.methods[name] as Handler;
const failed = (error: AppError): SettledCall => ({ ok: false, error: error.toJSON() });

export function hostedOf({ types }: Turns, { type }: Address): Hosted {
  const hosted = types.get(type);
  if (!hosted) throw notFound(`No actor type ${type} is hosted here`);
  return hosted;
}

/** Calls a method as a turn of the actor. Throws what is refused before a turn. */
export function callMethod(turns: Turns, to: Address, name: string, input: unknown): Promise<unknown> {
  const hosted = hostedOf(turns, to);
  const method = methodOf(hosted.implementation.contract, name);
  if (!method) throw notFound(`${to.type} has no method ${name}`);
  return method.batched
    ? callMany(turns, to, hosted, name, method, method.batched.max, input)
    : callOne(turns, to, hosted, name, method, input);
}

/**
 * Calls a method for another application, which has no part in what processes of ours have promised each other: it
 * reaches what the contract opens to it, with the input that is open to it. Of the rest it does not learn what there is.
 */
export function callOpenMethod(turns: Turns, to: Address, name: string, input: unknown): Promise<unknown> {
  const hosted = hostedOf(turns, to);
  const method = methodOf(hosted.implementation.contract, name);
  if (!method?.neighbours || method.batched)
    throw new AppError('forbidden', `${to.type}.${name} is not open to other applications`);
  return callOne(turns, to, hosted, name, method, parse(method.neighbours, input));
}

function callOne(
  turns: Turns,
  to: Address,
  hosted: Hosted,
  name: string,
  method: Method,
  raw: unknown,
): Promise<unknown> {
  const input: unknown = parse(method.input, raw);
  turns.counters.calls += 1;
  return enqueue(turns, to, hosted, name, ({ turn }) => handlerOf(hosted, name)(input, turn));
}

/** Each input is judged alone; what is left runs as one turn. */
async function callMany(
  turns: Turns,
  to: Address,
  hosted: Hosted,
  name: string,
  method: Method,
  max: number,
  raw: unknown,
): Promise<SettledCall[]> {
  const { counters, log } = turns;
  if (!Array.isArray(raw) || raw.length === 0 || raw.length > max)
    throw validationFailed([
      { field: 'inputs', message: `${name} takes a list of 1 to ${max} inputs`, rule: 'too_big' },
    ]);
  const settled: SettledCall[] = [];
  const inputs: unknown[] = [];
  const places: number[] = [];
  for (const [place, one] of raw.entries()) {
    try {
      inputs.push(parse(method.input, one));
      places.push(place);
    } catch (error) {
      settled[place] = failed(travelling(error));
    }
  }
  counters.calls += 1;
  if (inputs.length === 0) return settled;
  counters.batches += 1;
  counters.batchedInputs += inputs.length;

  let answers: unknown;
  try {
    answers = await enqueue(turns, to, hosted, name, ({ turn }) => handlerOf(hosted, name)(inputs, turn));
  } catch (error) {
    const known = travelling(error);
    if (known.code === 'draining' || known.code === 'busy') throw known; // nothing ran, or not here: for the engine
    for (const place of places) settled[place] = failed(known);
    return settled;
  }
  const list: unknown[] = Array.isArray(answers) ? answers : [];
  if (list.length !== inputs.length)
    log.error(
      { type: to.type, id: to.id, turn: name, inputs: inputs.length, answers: list.length },
      'a batched method did not answer every input; the others fail',
    );
  places.forEach((place, n) => {
    const answer = list[n];
    if (n >= list.length) settled[place] = failed(new AppError('internal', INTERNAL));
    else
      settled[place] =
        answer instanceof Error ? failed(asTravelling(turns, to, name, answer)) : { ok: true, value: answer };
  });
  return settled;
}

function asTravelling({ log }: Turns, to: Address, name: string, error: Error): AppError {
  if (!(error instanceof AppError))
    log.error({ err: error, type: to.type, id: to.id, turn: name }, 'an input of a batch failed');
  return travelling(error);
}
