import type { DaprClient } from '@dapr/dapr';
import type { Clock } from '../../platform/kernel/index.ts';
import type { CloudEvent } from './event.ts';

export interface PublishOptions {
  /** The component (`DAPR_EVENTS_PUBSUB`). */
  pubsub: string;
  grpcPort: number;
  apiToken: string | undefined;
  clock: Clock;
}
/** Publishes events on one topic, all of them or it throws; also when it is ended. */
export type Publish = (topic: string, events: readonly CloudEvent[], ending?: AbortSignal) => Promise<void>;

const AT_ONCE = 100;
const DEADLINE_MS = 10_000;
/** What the sidecar takes (`--max-body-size`). */
const MAX_BODY_MB = 16;
const SILENT = { error() {}, warn() {}, info() {}, verbose() {}, debug() {} };

/** Publishes by the client of Dapr's makers, which is loaded by the first event. */
export function openPublish({ pubsub, grpcPort, apiToken, clock }: PublishOptions): Publish {
  let client: Promise<DaprClient> | undefined;

  async function open(): Promise<DaprClient> {
    const { CommunicationProtocolEnum, DaprClient: Client } = await import('@dapr/dapr');
    return new Client({
      daprHost: '127.0.0.1',
      daprPort: String(grpcPort),
      // over HTTP it reads failures under a name that daprd does not use, and loses them
      communicationProtocol: CommunicationProtocolEnum.GRPC,
      ...(apiToken !== undefined && { daprApiToken: apiToken }),
      maxBodySizeMb: MAX_BODY_MB,
      logger: { service: SILENT },
    });
  }

  /** The client waits for ever, and answers failures in the place of throwing them. */
  async function publishSome(topic: string, events: readonly CloudEvent[], ending?: AbortSignal): Promise<void> {
    const done = new AbortController();
    const waits = ending ? AbortSignal.any([done.signal, ending]) : done.signal;
    const late = clock.sleep(DEADLINE_MS, waits).then(() => {
      throw new Error(`The sidecar did not answer within ${DEADLINE_MS / 1_000} s`);
    });
    const published = (client ??= open()).then((dapr) =>
      dapr.pubsub.publishBulk(
        pubsub,
        topic,
        events.map((event) => ({ entryID: event.id, event })),
      ),
    );
    try {
      const { failedMessages } = await Promise.race([published, late]);
      if (failedMessages.length > 0)
        throw new Error(`${failedMessages.length} of ${events.length} events were not published on ${topic}`, {
          cause: failedMessages[0]!.error,
        });
    } finally {
      done.abort();
      late.catch(() => {});
      published.catch(() => {});
    }
  }

  return async (topic, events, ending) => {
    for (let at = 0; at < events.length; at += AT_ONCE)
      await publishSome(topic, events.slice(at, at + AT_ONCE), ending);
  };
}
