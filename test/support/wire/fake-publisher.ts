import { Server, ServerCredentials } from '@grpc/grpc-js';
import { fieldsOf } from './fake-sidecar.ts';

/** A bulk of events as daprd gets it over gRPC. */
export interface Bulk {
  pubsub: string;
  topic: string;
  entries: { entryId: string; event: unknown; contentType: string }[];
}
/** Answers the ids of the entries that fail; undefined leaves the call open. */
export type Publishes = (bulk: Bulk) => readonly string[] | undefined | Promise<readonly string[] | undefined>;

/** Daprd as far as publishing over gRPC goes: what comes is recorded, and answered as the test says. */
export async function startFakePublisher(publishes: Publishes = () => []) {
  const bulks: Bulk[] = [];
  const tokens: unknown[] = [];
  const state = { publishes };
  const raw = (bytes: Buffer) => bytes;
  const definition = (name: string) => ({
    path: `/dapr.proto.runtime.v1.Dapr/${name}`,
    requestStream: false as const,
    responseStream: false as const,
    requestSerialize: raw,
    requestDeserialize: raw,
    responseSerialize: raw,
    responseDeserialize: raw,
  });
  const grpc = new Server();
  grpc.addService(
    {
      GetMetadata: definition('GetMetadata'),
      BulkPublishEventAlpha1: definition('BulkPublishEventAlpha1'),
    },
    {
      GetMetadata: (_call: object, done: (error: null, answer: Buffer) => void) => done(null, Buffer.alloc(0)),
      async BulkPublishEventAlpha1(
        call: { request: Buffer; metadata: { get(name: string): unknown[] } },
        done: (error: null, answer: Buffer) => void,
      ) {
        tokens.push(call.metadata.get('dapr-api-token')[0]);
        const bulk = bulkOf(call.request);
        bulks.push(bulk);
        const failed = await state.publishes(bulk);
        if (failed)
          done(
            null,
            Buffer.concat(failed.map((entryId) => field(1, Buffer.concat([field(1, entryId), field(2, 'no')])))),
          );
      },
    },
  );
  const port = await new Promise<number>((done, fail) =>
    grpc.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? fail(error) : done(bound),
    ),
  );
  return {
    port,
    bulks,
    tokens,
    state,
    async [Symbol.asyncDispose]() {
      grpc.forceShutdown();
    },
  };
}

function bulkOf(request: Buffer): Bulk {
  const fields = fieldsOf(request);
  return {
    pubsub: String(fields.get(1)?.[0]),
    topic: String(fields.get(2)?.[0]),
    entries: (fields.get(3) ?? []).map((entry) => {
      const of = fieldsOf(entry as Buffer);
      return {
        entryId: String(of.get(1)?.[0]),
        event: JSON.parse(String(of.get(2)?.[0])) as unknown,
        contentType: String(of.get(3)?.[0]),
      };
    }),
  };
}

/** A field with a length in front, of a text or a message of less than 128 bytes. */
function field(number: number, content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  if (bytes.length > 127) throw new RangeError('Longer than one byte can say');
  return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
}
