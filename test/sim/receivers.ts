import type { Outbound } from '../../src/platform/outbound/index.ts';
import { ProviderError } from '../../src/platform/kernel/index.ts';
import type { World } from './known.ts';

/** What a receiver got under one `webhook-id`. */
interface Got {
  readonly webhook: string;
  readonly body: string;
  readonly seq: string | undefined;
}
export const receiverOf = (webhookId: string): string => `https://receiver.example/${webhookId}`;

async function* nothing(): AsyncGenerator<Uint8Array> {}

/**
 * Those who are told by webhooks: they keep what they get by its id, and fail, or take it and do not answer, as the
 * networks do.
 */
export function openReceivers(world: World) {
  const got = new Map<string, Got>();

  const stream: Outbound['stream'] = (url, { headers = {}, body } = {}) =>
    world.networks.exchange('receiver', ['unavailable', 'lost', 'cut'], (answer) => {
      if (answer === 'cut') throw new ProviderError('lost', 'The connection was reset');
      const id = headers['webhook-id']!;
      const now: Got = { webhook: new URL(url).pathname.slice(1), body: String(body), seq: headers['webhook-seq'] };
      const before = got.get(id) ?? now;
      if (before.body !== now.body || before.seq !== now.seq) world.checks.changed(id);
      got.set(id, now);
      const status = answer === 'unavailable' ? 503 : 200;
      return { status, headers: new Headers(), url, body: nothing(), cancel() {} };
    });
  return { got, stream };
}
export type Receivers = ReturnType<typeof openReceivers>;
