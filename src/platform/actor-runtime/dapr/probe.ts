/**
 * How daprd watches a host. `dapr/processes.ts` and the deployment set exactly this; the drain is built on it. The
 * probe shares its connections with the calls, so its timeout is just under the interval.
 */
export const PROBE = { intervalMs: 1_000, timeoutMs: 900, threshold: 3 } as const;
export interface Probe {
  intervalMs: number;
  threshold: number;
}

/**
 * A host whose health has turned loses its types after this time at the earliest: a turn that began before must have
 * ended by then.
 */
const probeWindowMs = ({ intervalMs, threshold }: Probe): number => (threshold - 1) * intervalMs;

/** Refuses settings under which a drain would cut running turns (`turn limit ≤ (threshold − 1) × interval`). */
export function checkProbe(probe: Probe, turnMs: number): void {
  if (turnMs > probeWindowMs(probe))
    throw new Error(
      `A turn may last ${turnMs} ms, but daprd would cut it ${probeWindowMs(probe)} ms after a drain began: ` +
        `raise --app-health-threshold (${probe.threshold}) or --app-health-probe-interval (${probe.intervalMs} ms), or lower the turn limit.`,
    );
}
