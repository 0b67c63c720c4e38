import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { AppError, asAppError } from '../../kernel/index.ts';
import type { Address } from '../engine.ts';
import { isDigest, readName, unescapeName } from './escape.ts';
import { receiveBody, type ServerReply, type Serving } from './serving.ts';
import { CALLER_HEADER, COMMAND_HEADER, decode, decodeFreight, encode, ID_HEADER, TRACE_HEADER } from './wire.ts';

/** A round waits for this answer, and a turn that daprd has cut may still run: after this it is answered anyway. */
const DEACTIVATE_MS = 500;

function addressOf(
  { digests }: Serving,
  type: string | undefined,
  wire: string | undefined,
  told: string | undefined,
): Address | undefined {
  if (type === undefined || wire === undefined) return undefined;
  const known = { type: unescapeName(type), id: readName(wire, told ?? digests.get(wire)) };
  if (known.type === undefined || known.id === undefined) return undefined;
  if (isDigest(wire)) digests.set(wire, known.id);
  return { type: known.type, id: known.id };
}

async function deactivate(serving: Serving, type: string | undefined, wire: string | undefined): Promise<ServerReply> {
  const { host, log, digests } = serving;
  const of = addressOf(serving, type, wire, undefined);
  if (!of) return { status: 200 };
  const done = host.deactivate(of).catch((error: unknown) => log.warn({ of, err: error }, 'deactivation failed'));
  await Promise.race([done, new Promise((passed) => setTimeout(passed, DEACTIVATE_MS).unref())]);
  digests.delete(wire!);
  return { status: 200 };
}

/** Answers a request about an actor: a call of a method, a reminder, or its deactivation. */
export async function answerActor(
  serving: Serving,
  method: string,
  [type, id, verb, name, reminder, ...more]: readonly string[],
  request: IncomingMessage,
): Promise<ServerReply> {
  if (method === 'DELETE' && verb === undefined) return deactivate(serving, type, id);
  if (method !== 'PUT' || verb !== 'method' || !name || name === 'timer' || more.length > 0) return { status: 404 };
  if (name === 'remind') {
    const { data, owner, ...told } = decodeFreight(await receiveBody(request));
    const to = addressOf(serving, type, id, told.id);
    const which = reminder === undefined ? undefined : readName(reminder, told.name);
    if (!to || which === undefined) return { status: 404 };
    await serving.host.fire(to, which, data, owner);
    return { status: 200 };
  }
  const told = request.headers[ID_HEADER];
  const to = addressOf(serving, type, id, typeof told === 'string' ? percentDecoded(told) : undefined);
  const called = unescapeName(name);
  if (!to || called === undefined || reminder !== undefined) return { status: 404 };
  const body = await receiveBody(request);
  if (!isOurs(serving, request)) return answerNeighbour(serving, to, called, body);
  const commandId = request.headers[COMMAND_HEADER];
  const given = input(body);
  const call = () => serving.host.call(to, called, given, typeof commandId === 'string' ? commandId : undefined);
  return { status: 200, body: encode(await continued(serving, request, to.type, call)) };
}

/** Of every call, so it costs less than digests would; how long the token is, is no secret. */
function isOurs({ caller }: Serving, { headers }: IncomingMessage): boolean {
  const given = Buffer.from(String(headers[CALLER_HEADER] ?? ''));
  return given.length === caller.length && timingSafeEqual(given, caller);
}

/**
 * A call by another application. The client of Dapr's makers sends its arguments as a list, and takes any 200 for a
 * result: an error has a status of its own here, which daprd makes a failure of the call.
 */
async function answerNeighbour(
  { host, log }: Serving,
  to: Address,
  method: string,
  body: string,
): Promise<ServerReply> {
  try {
    const given = input(body);
    const argument = Array.isArray(given) && given.length < 2 ? given[0] : given;
    return { status: 200, body: encode(await host.callByNeighbour(to, method, argument ?? {})) };
  } catch (thrown) {
    const error = asAppError(thrown);
    if (error.code === 'internal') log.error({ to, method, err: error.cause ?? error }, 'a call by a neighbour failed');
    // of a 404 daprd says that there is no such method, and nothing of the body
    return { status: error.status === 404 ? 400 : error.status, body: JSON.stringify(error) };
  }
}

/** A call as a span below that of the process that makes it. */
function continued(
  { tracing }: Serving,
  request: IncomingMessage,
  type: string,
  call: () => Promise<unknown>,
): Promise<unknown> {
  const traceparent = request.headers[TRACE_HEADER];
  if (!tracing?.enabled || typeof traceparent !== 'string') return call();
  return tracing.span({ name: `call ${type}`, kind: 'server', traceparent }, call);
}

function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** A body that is no JSON is a fault of the caller, named as such. */
function input(text: string): unknown {
  try {
    return decode(text);
  } catch (cause) {
    throw new AppError('invalid_json', 'The input of this call is not JSON', {}, { cause });
  }
}
