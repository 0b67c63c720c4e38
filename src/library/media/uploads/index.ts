import { bind } from '../../../platform/kernel/index.ts';
import { abortUpload, dropAbandoned } from './abandon.ts';
import { beginUpload } from './begin.ts';
import { completeUpload } from './complete.ts';
import type { UploadsOptions } from './deps.ts';
import { listParts, signPart, takePart } from './parts.ts';
import { openPartsInFlight } from './parts-in-flight.ts';

export type { UploadName } from './deps.ts';

export type Uploads = ReturnType<typeof openUploads>;

/**
 * Opens uploads in parts (S149): each part is sent by itself, again where it was cut off, until all have arrived and
 * become a file.
 */
export const openUploads = (options: UploadsOptions) =>
  bind(
    { ...options, partsInFlight: openPartsInFlight(options.clock) },
    {
      begin: beginUpload,
      sign: signPart,
      takePart,
      parts: listParts,
      complete: completeUpload,
      abort: abortUpload,
      dropAbandoned,
    },
  );
