import type { UploadLimits } from '../../../platform/outbound/index.ts';

/**
 * Limits on every file that is sent to a provider, beside the time that its call has: it must be taken at this rate as
 * a whole, and nobody waits longer for the next piece to be taken. At that rate a system that keeps 4 MiB of it says
 * after 22 s that a third of them is taken.
 */
export const UPLOAD: UploadLimits = { bytesPerMs: 64, silenceMs: 30_000 };

/** Milliseconds that a call with a body of so many bytes may take. */
export const wholeMs = (timeoutMs: number, bytes: number): number => timeoutMs + Math.ceil(bytes / UPLOAD.bytesPerMs);

/**
 * Limits on every body that is read as a stream: nobody waits longer for its next piece, nor, as a whole, for more than
 * `graceMs` beyond the time that its bytes take at this rate. Time in which the reader does not ask for more is not
 * counted.
 */
export interface DownloadLimits {
  bytesPerMs: number;
  silenceMs: number;
  graceMs: number;
}
export const DOWNLOAD: DownloadLimits = { bytesPerMs: 64, silenceMs: 30_000, graceMs: 60_000 };
