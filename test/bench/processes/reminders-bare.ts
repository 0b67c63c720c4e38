// The least that reminders of Dapr cost: a gRPC client that repeats nothing, and a handler that answers each with 200.
import { Client, credentials, type MethodDefinition, type ServiceDefinition } from '@grpc/grpc-js';
import { load } from '@grpc/proto-loader';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { answering } from '../kit/answering.ts';

const { grpcPort, appPort } = JSON.parse(process.argv[2]!) as { grpcPort: number; appPort: number };
const TYPE = 'BareReminded';
const REMINDED = new RegExp(`^/actors/${TYPE}/([^/]+)/method/remind/`);
const PROTO = fileURLToPath(new URL('../../../src/platform/actor-runtime/dapr/reminders.proto', import.meta.url));

/** What daprd asks of an app at its start, answered; all else is 200 without a body. */
const ANSWERS: Readonly<Record<string, string>> = {
  '/dapr/config': JSON.stringify({ entities: [TYPE] }),
  '/dapr/subscribe': '[]',
};
/** When each was reminded first. */
let fired = new Map<string, number>();
const server = createServer((request, response) => {
  request.resume().once('end', () => {
    const url = request.url ?? '';
    const id = REMINDED.exec(url)?.[1];
    if (id !== undefined && !fired.has(id)) fired.set(id, Date.now());
    response.setHeader('content-type', 'application/json');
    response.end(ANSWERS[url] ?? '');
  });
}).listen(appPort, '127.0.0.1');
server.keepAliveTimeout = 120_000;

const service = (await load(PROTO, { keepCase: true }))['dapr.proto.runtime.v1.Dapr'] as ServiceDefinition;
const { path, requestSerialize, responseDeserialize } = service['RegisterActorReminder'] as MethodDefinition<
  object,
  object
>;
const client = new Client(`127.0.0.1:${grpcPort}`, credentials.createInsecure());
const register = (id: string, due: string) =>
  new Promise<void>((done, fail) => {
    const reminder = {
      actor_type: TYPE,
      actor_id: id,
      name: 'ring',
      due_time: due,
      overwrite: true,
      failure_policy: { constant: { interval: { seconds: 5 } } },
    };
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, reminder, (error) =>
      error ? fail(error) : done(),
    );
  });
let rounds = 0;

answering({
  start: () => (server.listening ? undefined : once(server, 'listening')),
  /** As that of `reminders-host.ts`. */
  async register({ count, due, callers }: { count: number; due: number; callers: number }) {
    fired = new Map();
    const [round, at] = [++rounds, new Date(due).toISOString()];
    let next = 0;
    const begun = performance.now();
    await Promise.all(
      Array.from({ length: callers }, async () => {
        while (next < count) await register(`r${round}-${next++}`, at);
      }),
    );
    return performance.now() - begun;
  },
  count: () => fired.size,
  fired: () => [...fired.values()],
});
