import type { Clock } from '../../../platform/kernel/index.ts';
import type { Fetch } from '../wire/fetch.ts';
import type { Fields, ValuesOf } from './fields.ts';
import type { Http } from '../wire/http.ts';
import type { OpenS3 } from '../protocols/s3.ts';
import type { Smtp } from '../protocols/smtp.ts';
import type { Sockets } from '../wire/sockets.ts';
import type { Stream } from '../wire/stream.ts';

/** What an adapter is opened with: every way out to its provider, each behind the outbound guard, and the owner's values. */
export interface Line<F extends Fields = Fields> {
  http: Http;
  /** For protocol libraries that bring their own calls. */
  fetch: Fetch;
  /** For bytes of any number. */
  stream: Stream;
  sockets: Sockets;
  smtp: Smtp;
  s3: OpenS3;
  /** Where this machine keeps files; undefined: nowhere. */
  folder: string | undefined;
  /** `api`, filled. */
  base: string;
  /** `hosts` as declared, or what stands in their place. */
  hosts: Readonly<Record<string, string>>;
  values: ValuesOf<F>;
  clock: Clock;
  /** What was learned on the way, such as a token, is not seen in failures from now on. */
  hide(secret: string): void;
  /** How long one exchange may take. */
  timeoutMs: number;
}

/** Whose connection it is: of an organization, or with null of the whole instance. `values` are the checked fields. */
export interface Use {
  orgId: string | null;
  values: Readonly<Record<string, string>>;
}
