import type { Limiter } from '../../../platform/flow/index.ts';
import type { Clock } from '../../../platform/kernel/index.ts';
import type { Log } from '../../../platform/telemetry/index.ts';
import type { MediaDeps, MediaOptions } from '../deps.ts';
import type { Pictures } from '../pictures.ts';
import type { TrimVideo } from './trim.ts';

/** What the room hands to the changes of files. */
export interface TransformsOptions
  extends
    Pick<MediaDeps, 'sql' | 'backendUrl' | 'storages' | 'bodies' | 'incoming' | 'prober' | 'ingest'>,
    Pick<MediaOptions, 'billing'> {
  clock: Clock;
  log: Log;
  /** This start of this process. */
  incarnation: string;
  pictures: Pick<Pictures, 'transform'>;
  /** Undefined: the machine has no ffmpeg. */
  trim: TrimVideo | undefined;
  retentionDays: number;
}

/** What their use cases are handed. */
export interface TransformsDeps extends TransformsOptions {
  /** The place for what takes a processor. */
  atWork: Limiter;
  /** Looks for work, where this process does some. */
  wake(): void;
}
