/** So many failures in a row are announced (S171). */
export const FAILING_AT = 20;

/** Waits before the second and the third attempt; after the third recorded attempt it is over (W4). */
const WAITS_MS = [1_000, 2_000];
/** How long to wait after this failed attempt; null when it was the last. */
export const retryInMs = (attempt: number): number | null => WAITS_MS[attempt - 1] ?? null;

export const ROTATION_HOURS = 24;
/** Of the receiver's answer; the rest is not read (W3). */
export const ANSWER_TEXT_BYTES = 4_096;

/** What one attempt came to. `status` 0: no answer. `error` as in S168. */
export interface DeliveryOutcome {
  ok: boolean;
  status: number;
  error: string | null;
  durationMs: number;
}
export const outcomeOf = (status: number, durationMs: number): DeliveryOutcome => {
  const ok = status >= 200 && status < 300;
  return { ok, status, error: ok ? null : `HTTP ${status}`, durationMs };
};

/** The body of `ping`, in the order of the specification. */
export const pingBody = (now: Date, message: string): string =>
  JSON.stringify({ event: 'ping', timestamp: now.toISOString(), data: { message } });
export const TEST_PING = 'Test ping';

/** The answer to whoever asked for one delivery (S168). */
export type PingResult = { success: true; status: number } | { success: false; status: 0; error: string };
export const pingResult = ({ ok, status, error }: DeliveryOutcome): PingResult =>
  ok ? { success: true, status } : { success: false, status: 0, error: error ?? `HTTP ${status}` };

/**
 * Names that only a private network has: one label, or a suffix reserved for that. Which address they lead to is judged
 * at each delivery.
 */
const PRIVATE_NAME = /^[^.]+$|(^|\.)(localhost|local|internal|intranet|lan|test|home\.arpa)$/;
/** Plain http is for opened private ranges (S166): an address there, or a name that cannot be a public one. */
export const mayBePlain = ({ hostname }: URL): boolean =>
  /^\[|^[\d.]+$/.test(hostname) || PRIVATE_NAME.test(hostname.replace(/\.$/, ''));
