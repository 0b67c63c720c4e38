import {
  type ChannelCredentials,
  Client,
  credentials,
  Metadata,
  type MethodDefinition,
  type ServiceDefinition,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { load } from '@grpc/proto-loader';
import { fileURLToPath } from 'node:url';
import { AppError, type Clock } from '../../kernel/index.ts';
import type { Address, Reminder, ReminderCounts } from '../engine.ts';
import { escapeName, isDigest, wireName } from './escape.ts';
import { encodeFreight, TOKEN_HEADER } from './wire.ts';

const PROTO = fileURLToPath(new URL('./reminders.proto', import.meta.url));
const SERVICE = 'dapr.proto.runtime.v1.Dapr';
/** More callers at a time do not register faster. */
const AT_ONCE = 64;
/** Of one try: a sidecar under load is slow, not away; one that holds its host for dead answers once it is back. */
const TRY_MS = 15_000;
/**
 * Between the first two tries; twice as long each time, so that many registrations do not keep a host from the probe
 * that makes it healthy again.
 */
const PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 1_000;
const MAX_LIST = 128 * 1024 * 1024;

export interface SchedulerRemindersOptions {
  port: number;
  token: string | undefined;
  clock: Clock;
  /** Milliseconds since 1970 by the clock by which reminders are due: that of this machine may be wrong. */
  now(): Promise<number>;
  /** A callback that failed comes again after this long, for ever. */
  retryMs: number;
  /** A registration that fails for want of a scheduler is tried this long. */
  repeatMs: number;
}

/** Reminders over gRPC, the only way to give one a failure policy: without it, four failed callbacks delete it. */
export interface SchedulerReminders {
  register(reminders: readonly Reminder[]): Promise<void>;
  unregister(of: Address, name: string): Promise<void>;
  /** Asks the scheduler for every reminder of a type: for a page that a person looks at, not for every second. */
  count(types: readonly string[]): Promise<ReminderCounts>;
  /**
   * Sets those again, as they are and due now, that are overdue by more than `ms`, at most `limit`; answers how many.
   * Lists every reminder of the types.
   */
  rearm(types: readonly string[], ms: number, limit: number): Promise<number>;
  close(): void;
}

type Method = MethodDefinition<object, object>;
interface Stored {
  name: string;
  reminder?: { actor_type: string; actor_id: string; due_time?: string; data?: { value: Buffer } };
}

const duration = (ms: number) => ({ seconds: Math.floor(ms / 1_000), nanos: (ms % 1_000) * 1_000_000 });
/**
 * PERMISSION_DENIED says that the sidecar does not host the type: of a type hosted here, that its host counts as
 * unhealthy for the moment.
 */
const TRANSIENT: readonly status[] = [
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.INTERNAL,
  status.UNKNOWN,
  status.CANCELLED,
  status.PERMISSION_DENIED,
];
const isTransient = ({ code }: ServiceError) => TRANSIENT.includes(code);

/**
 * The bytes that were registered. The scheduler keeps them as a JSON string of base64 in a `BytesValue`: a tag, a
 * length as varint, the text.
 */
function bytesOf(data: { value: Buffer } | undefined): Buffer {
  if (!data) return Buffer.alloc(0);
  let start = 1;
  while (data.value[start]! & 0x80) start += 1;
  return Buffer.from(JSON.parse(data.value.toString('utf8', start + 1)) as string, 'base64');
}

export async function openSchedulerReminders({
  port,
  token,
  clock,
  now,
  retryMs,
  repeatMs,
}: SchedulerRemindersOptions): Promise<SchedulerReminders> {
  const service = (await load(PROTO, { keepCase: true, longs: Number }))[SERVICE] as ServiceDefinition;
  const plain: ChannelCredentials = credentials.createInsecure();
  const client = new Client(`127.0.0.1:${port}`, plain, {
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 1_000,
    'grpc.enable_http_proxy': 0,
    'grpc.max_receive_message_length': MAX_LIST,
  });
  const metadata = new Metadata();
  if (token !== undefined) metadata.set(TOKEN_HEADER, token);

  const once = (name: string, message: object) =>
    new Promise<object>((done, fail) => {
      const { path, requestSerialize, responseDeserialize } = service[name] as Method;
      client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        message,
        metadata,
        { deadline: clock.in(TRY_MS) },
        (error, answer) => (error ? fail(error) : done(answer ?? {})),
      );
    });

  async function ask(name: string, message: object): Promise<object> {
    const started = clock.monotonic();
    for (let pause = PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      try {
        return await once(name, message);
      } catch (error) {
        const failure = error as ServiceError;
        if (!isTransient(failure)) throw new Error(`daprd refused ${name}: ${failure.details}`, { cause: error });
        if (clock.monotonic() - started + pause > repeatMs)
          throw new AppError(
            'unavailable',
            'Reminders cannot be set at the moment, try again shortly',
            { retryAfterMs: 1_000 },
            { cause: error },
          );
      }
      await clock.sleep(pause);
    }
  }

  const named = ({ type, id }: Address, name: string) => ({
    actor_type: escapeName(type),
    actor_id: wireName(id),
    name: wireName(name),
  });
  function registration({ type, id, name, due, data, owner }: Reminder): object {
    const address = named({ type, id }, name);
    const freight = { data, owner, ...(isDigest(address.actor_id) && { id }), ...(isDigest(address.name) && { name }) };
    return {
      ...address,
      due_time: due.toISOString(),
      data: encodeFreight(freight),
      overwrite: true,
      failure_policy: { constant: { interval: duration(retryMs) } },
    };
  }

  async function registerAll(registrations: readonly object[]): Promise<void> {
    const left = registrations.values();
    const worker = async () => {
      for (const one of left) await ask('RegisterActorReminder', one);
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, registrations.length) }, worker));
  }
  async function list(types: readonly string[]): Promise<Stored[]> {
    const lists = await Promise.all(types.map((type) => once('ListActorReminders', { actor_type: escapeName(type) })));
    return lists.flatMap((answer) => (answer as { reminders?: Stored[] }).reminders ?? []);
  }
  const dueAt = ({ reminder }: Stored) => Date.parse(reminder?.due_time ?? '');

  return {
    register: (reminders) => registerAll(reminders.map(registration)),
    async unregister(of, name) {
      await ask('UnregisterActorReminder', named(of, name));
    },
    async count(types) {
      const [stored, at] = await Promise.all([list(types), now()]);
      return { pending: stored.length, overdue: stored.filter((one) => dueAt(one) < at).length };
    },
    async rearm(types, ms, limit) {
      const [stored, at] = await Promise.all([list(types), now()]);
      const forgotten = stored.filter((one) => one.reminder && dueAt(one) < at - ms).slice(0, limit);
      await registerAll(
        forgotten.map(({ name, reminder }) => ({
          actor_type: reminder!.actor_type,
          actor_id: reminder!.actor_id,
          name,
          due_time: new Date(at).toISOString(),
          data: bytesOf(reminder!.data),
          overwrite: true,
          failure_policy: { constant: { interval: duration(retryMs) } },
        })),
      );
      return forgotten.length;
    },
    close: () => client.close(),
  };
}
