import type { UploadLimits } from '../../../platform/outbound/index.ts';

/**
 * Limits on every file that is sent to a provider, beside the time that its call has: it must be taken at this rate as
 * a whole, and nobody waits longer for the next piece to be taken. At that rate a system that keeps 4 MiB of it says
 * after 22 s that a third of them is taken.
 */
export const UPLOAD: UploadLimits = { bytesPerMs: 64, silenceMs: 30_000 };

/** Milliseconds that a call with a body of so many bytes may take. */
export const wholeMs = (timeoutMs: number, bytes: number): number => timeoutMs + Math.ceil(bytes / UPLOAD.bytesPerMs);
