/** A summary for people and probes (clients.md S24). */
export interface HealthReport {
  jobs: { engine: string; wired: readonly string[]; pending: number };
  crons: readonly { name: string; lastRunAt: Date | null; lastStatus: string | null; lastDurationMs: number | null }[];
  lateness: { p50Ms: number | null; p99Ms: number | null };
}

/** What the health routes ask beside the database and the cache. */
export interface Health {
  /** Set when the process is asked to end: from then on it is not ready. */
  draining: boolean;
  report(): Promise<HealthReport>;
  /** `from`: the engine's own count, or where it cannot say the rows that the reminders stand for. */
  reminders(): Promise<{ pending: number; overdue: number; from: 'engine' | 'rows' }>;
}
