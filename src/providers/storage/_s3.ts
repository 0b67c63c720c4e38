import { type Field, type Fields, secret, text } from '../kit/declare/fields.ts';
import { storage, type StorageAdapter } from './_contract.ts';
import { openS3Store } from './_s3-store.ts';

/** What is known to differ from one server of the S3 API to another. */
interface Quirks {
  /** Refuses `DeleteObjects`, or the checksum that it cannot be sent without. */
  deleteOneByOne?: true;
  /** Objects may have a visibility of their own (`x-amz-acl`). */
  acl?: true;
  /** The size of part that it is best at. */
  partBytes?: number;
  /** Where it takes fewer than 10,000. */
  mostParts?: number;
  /** Requests are signed for this, whatever the region. */
  signingRegion?: string;
  /** The bucket is in the host, not in the path. */
  virtualHost?: true;
  /** The client knows the address of each region best. */
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
  /** Where a choice decides over the host. */
  endpointFor?: (base: string, values: Readonly<Record<string, string>>) => string;
  /** Where everybody reads a public object, without the key; undefined where there is no such address. */
  publicAt?: string;
  /** Beside those that every brand has. */
  fields?: Fields;
  quirks?: Quirks;
}

const NAME = '[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]';
const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
/** A part of a host name. */
export const label = (title: string, more: Omit<Field, 'label' | 'secret' | 'validation'> = {}): Field => text(title, { validation: LABEL, ...more });
const PATH = '[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*/?';

const visibility = text('Visibility of new objects', {
  default: 'private',
  options: [
    { value: 'private', label: 'Private: networks get signed addresses' },
    { value: 'public-read', label: 'Public: everybody who has the address' },
  ],
});

/** Any number of brands on one protocol: what differs is data. */
export function s3Compatible({ endpoint, endpointFor = (base) => base, publicAt, fields = {}, quirks = {}, ...brand }: Brand): StorageAdapter {
  const credentials = {
    accessKeyId: text('Access key id', { validation: '\\S{3,200}' }),
    secretAccessKey: secret('Secret access key'),
    bucket: text('Bucket', { validation: NAME, help: 'The name of the bucket: letters, digits, dots and dashes' }),
    ...fields,
    ...(quirks.acl && { visibility }),
    publicUrl: text('Public address', {
      required: false,
      form: 'url',
      address: false, // people are sent there, no call of ours
      help: 'Where everybody can read the objects: a domain or a CDN in front of the bucket, to which the key is added. Without it, networks get signed addresses.',
      ...(publicAt !== undefined && { placeholder: publicAt }),
    }),
    keyPrefix: text('Folder in the bucket', { required: false, validation: PATH, help: 'Letters, digits, dots, dashes and slashes' }),
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
      const { accessKeyId = '', secretAccessKey = '', sessionToken, bucket = '', region = '', forcePathStyle, keyPrefix = '' } = values;
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
        publicUrl: (values['publicUrl'] ?? (isOpen && publicAt !== undefined ? filled(publicAt, values) : undefined))?.replace(/(?<!\/)\/+$/, ''),
        deleteOneByOne: quirks.deleteOneByOne ?? false,
        partBytes: quirks.partBytes,
        mostParts: quirks.mostParts,
      });
    },
  });
}

const filled = (template: string, values: Readonly<Record<string, string>>): string => template.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
