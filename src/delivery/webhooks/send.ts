import type { Clock, Vault } from '../../platform/kernel/index.ts';
import { type Outbound, OutboundError } from '../../platform/outbound/index.ts';
import { ANSWER_TEXT_BYTES, type DeliveryOutcome, outcomeOf } from './rules.ts';
import { isSignedEvent } from './events.ts';
import { CARRIED, signedHeaders } from './sign.ts';

/** One request to one receiver. `secret` and `previousSecrets` are sealed. */
export interface WebhookRequest {
  url: string;
  id: string;
  /** Says whether it is signed (W4). */
  event: string;
  body: string;
  seq?: number | undefined;
  secret?: string | null;
  previousSecrets?: readonly string[];
}
/** Sends once and says what came of it; never rejects. */
export type Send = (request: WebhookRequest, signal?: AbortSignal) => Promise<DeliveryOutcome>;

interface Options {
  outbound: Outbound;
  clock: Clock;
  vault: Vault;
  signingKey: string;
  timeoutMs: number;
  unsignedTimeoutMs: number;
}

/** The only header of events that are not signed (WH29). */
const UNSIGNED = { 'Content-Type': 'application/json' };

export const openSend =
  ({ outbound, clock, vault, signingKey, timeoutMs, unsignedTimeoutMs }: Options): Send =>
  async ({ url, id, event, body, seq, secret, previousSecrets = [] }, signal) => {
    const started = clock.monotonic();
    const took = () => Math.round(clock.monotonic() - started);
    try {
      const secrets = [secret, ...previousSecrets].flatMap((sealed) => (sealed ? [vault.open(sealed)] : []));
      const signed = () =>
        signedHeaders({ id: `msg_${id}`, body, seq, at: clock.now() }, { deploymentKey: signingKey, secrets });
      const form = isSignedEvent(event)
        ? { headers: signed(), timeoutMs, carried: CARRIED }
        : { headers: UNSIGNED, timeoutMs: unsignedTimeoutMs, bare: true };
      const answer = await outbound.stream(url, {
        method: 'POST',
        ...form,
        body: Buffer.from(body),
        redirects: 'keep-body',
        maxBytes: ANSWER_TEXT_BYTES,
        onTooLarge: 'cut',
        ...(signal && { signal }),
      });
      await discard(answer.body);
      return outcomeOf(answer.status, took());
    } catch (error) {
      return { ok: false, status: 0, error: reasonOf(error), durationMs: took() };
    }
  };

/** Reads the little that is wanted, so that the connection can be used again. The status has said all that counts. */
async function discard(body: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    for await (const _ of body);
  } catch {
    // a broken body changes nothing
  }
}

/** What S168 and the list of deliveries say: nothing of our own inside, nothing that a table could not hold. */
const reasonOf = (error: unknown): string =>
  error instanceof OutboundError
    ? error.message.replaceAll('\0', '').toWellFormed().slice(0, 300)
    : 'The delivery could not be made';
