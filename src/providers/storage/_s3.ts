import { type Field, type Fields, secret, text } from '../kit/declare/fields.ts';
import { storage, type StorageAdapter } from './_contract.ts';
import { openS3Store } from './_s3-store.ts';

/** Differences of servers with the S3 API. Absent: as AWS. */
interface Quirks {
  /** Objects have a visibility of their own (`x-amz-acl`). */
  acl?: true;
  /** The recommended part size. */
  partBytes?: number;
  /** Greatest number of parts, where it is below 10,000. */
  mostParts?: number;
  /** The region in signatures, whatever the region. */
  signingRegion?: string;
  /** The bucket is in the host, not in the path. */
  virtualHost?: true;
  /** Leaves the address of a region to the client. */
  partitions?: true;
}

interface Brand {
  id: string;
  title: string;
  description: string;
  website?: string;
  setupNotes?: string;
  /** `{field}` is filled from the credentials. */
  endpoint: string;
  /** Derives the host from a choice. */
  endpointFor?: (base: string, values: Readonly<Record<string, string>>) => string;
  /** Public address of objects, without the key; undefined where there is none. */
  publicAt?: string;
  /** Fields beside those of every brand. */
  fields?: Fields;
  quirks?: Quirks;
}

const NAME = '[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]';
const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
/** Makes a field for a label of a host name; where it is part of none, `place` is false. */
export const label = (title: string, more: Omit<Field, 'label' | 'secret' | 'validation'> = {}): Field =>
  text(title, { validation: LABEL, place: true, ...more });
const PATH = '[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*/?';

const visibility = text('Visibility of new objects', {
  default: 'private',
  options: [
    { value: 'private', label: 'Private: networks get signed addresses' },
    { value: 'public-read', label: 'Public: everybody who has the address' },
  ],
});

/** Declares a store with the S3 API; brands differ in data only. */
export function s3Compatible({
  endpoint,
  endpointFor = (base) => base,
  publicAt,
  fields = {},
  quirks = {},
  ...brand
}: Brand): StorageAdapter {
  const credentials = {
    accessKeyId: text('Access key id', { validation: '\\S{3,200}' }),
    secretAccessKey: secret('Secret access key'),
    bucket: text('Bucket', {
      validation: NAME,
      place: true,
      help: 'The name of the bucket: letters, digits, dots and dashes',
    }),
    ...fields,
    ...(quirks.acl && { visibility }),
    publicUrl: text('Public address', {
      required: false,
      form: 'url',
      address: false, // opened by people, never called by this service
      help: 'Where everybody can read the objects: a domain or a CDN in front of the bucket, to which the key is added. Without it, networks get signed addresses.',
      ...(publicAt !== undefined && { placeholder: publicAt }),
    }),
    keyPrefix: text('Folder in the bucket', {
      required: false,
      validation: PATH,
      place: true,
      help: 'Letters, digits, dots, dashes and slashes',
    }),
  } satisfies Fields;

  return storage({
    ...brand,
    version: 'v1',
    status: 'active',
    authType: 'aws_sigv4',
    credentials: credentials as Fields,
    owners: ['instance', 'org'],
    api: endpoint,
    can: ['multipart', 'direct', 'url'],
    facts: { protocol: 's3' },
    connect({ s3, base, values }) {
      const {
        accessKeyId = '',
        secretAccessKey = '',
        sessionToken,
        bucket = '',
        region = '',
        forcePathStyle,
        keyPrefix = '',
      } = values;
      const isOpen = quirks.acl && values['visibility'] === 'public-read';
      return openS3Store({
        s3: s3({
          endpoint: quirks.partitions && base.endsWith('.amazonaws.com') ? undefined : endpointFor(base, values),
          region: quirks.signingRegion ?? region,
          name: bucket,
          accessKeyId,
          secretAccessKey,
          sessionToken,
          pathStyle: forcePathStyle === undefined ? !quirks.virtualHost : forcePathStyle === 'true',
        }),
        prefix: keyPrefix && `${keyPrefix.replace(/(?<!\/)\/+$/, '')}/`,
        acl: isOpen ? 'public-read' : undefined,
        publicUrl: (
          values['publicUrl'] ?? (isOpen && publicAt !== undefined ? filled(publicAt, values) : undefined)
        )?.replace(/(?<!\/)\/+$/, ''),
        partBytes: quirks.partBytes,
        mostParts: quirks.mostParts,
      });
    },
  });
}

const filled = (template: string, values: Readonly<Record<string, string>>): string =>
  template.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
