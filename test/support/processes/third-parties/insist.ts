import { setTimeout as sleep } from 'node:timers/promises';

/** How a delivery was answered; 0: not at all, so nobody knows what became of it. */
export interface Answered {
  status: number;
  body: unknown;
}
interface Sent {
  headers: Record<string, string>;
  body: string;
}

const ANSWER_MS = 10_000;
const PAUSE_MS = 250;
const MOST_MS = 150_000;

/** One POST of somebody who waits ten seconds for the answer. */
export const sendOnce = (url: string, { headers, body }: Sent): Promise<Answered> =>
  fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(ANSWER_MS) })
    .then(async (response) => ({ status: response.status, body: await response.json() }))
    .catch(() => ({ status: 0, body: undefined }));

/**
 * Sends an event again until it is answered with 2xx, as those do who send webhooks. `signed`: makes each attempt, with
 * a signature of its own; `heard` is told each answer.
 */
export async function insist(url: string, signed: () => Sent, heard: (answer: Answered) => void): Promise<void> {
  const end = performance.now() + MOST_MS;
  for (;;) {
    const answer = await sendOnce(url, signed());
    heard(answer);
    if (answer.status >= 200 && answer.status < 300) return;
    if (performance.now() > end) throw new Error(`${url} does not take an event: ${JSON.stringify(answer)}`);
    await sleep(PAUSE_MS);
  }
}
