import type { Outbound } from '../../src/platform/outbound/index.ts';
import { ProviderError } from '../../src/platform/kernel/index.ts';
import type { Answer, Networks } from './network.ts';

/** What a receiver got under one `webhook-id`. */
interface Got {
  readonly id: string;
  readonly webhook: string;
  readonly body: string;
  readonly seq: string | undefined;
}
const ANSWERS: readonly Answer[] = ['unavailable', 'lost', 'cut'];
export const receiverOf = (webhookId: string): string => `https://receiver.example/${webhookId}`;

async function* nothing(): AsyncGenerator<Uint8Array> {}

/**
 * Those who are told by webhooks: they keep what they get by its id, and fail, or take it and do not answer, as the
 * networks do. `changed` is told of an id that comes with other bytes than before.
 */
export function openReceivers(networks: () => Pick<Networks, 'exchange'>, changed: (id: string) => void) {
  const got = new Map<string, Got>();

  function take({ id, body, ...of }: Got): void {
    const before = got.get(id);
    if (before && (before.body !== body || before.seq !== of.seq)) changed(id);
    got.set(id, { id, body, ...of });
  }
  const stream: Outbound['stream'] = (url, { headers = {}, body } = {}) =>
    networks().exchange('receiver', ANSWERS, (answer) => {
      if (answer === 'cut') throw new ProviderError('lost', 'The connection was reset');
      const webhook = new URL(url).pathname.slice(1);
      take({ id: headers['webhook-id']!, webhook, body: String(body), seq: headers['webhook-seq'] });
      const status = answer === 'unavailable' ? 503 : 200;
      return { status, headers: new Headers(), url, body: nothing(), cancel() {} };
    });
  return { got, stream };
}
export type Receivers = ReturnType<typeof openReceivers>;
