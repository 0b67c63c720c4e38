import type { IncomingMessage } from 'node:http';
import { AppError, type Clock, equalSecrets, hmacHex, invalidField } from '../../../platform/kernel/index.ts';
import type { Part } from '../../../providers/registry/index.ts';
import { drainRequest } from '../receive.ts';
import { getUpload, openParts, providerUploadOf, unknownUpload, type UploadName, type UploadsDeps } from './deps.ts';
import { uploadOfPart, type UploadRow } from './store.ts';

/** The address of a part, as it was signed. */
export interface SignedPart {
  uploadId: string;
  number: number;
  /** Seconds since 1970. */
  expires: number;
  signature: string;
}

const SIGNED_SECONDS = 3_600;
const secondsNow = (clock: Clock) => Math.floor(clock.now().getTime() / 1_000);
const signatureOf = (key: string, { uploadId, number, expires }: Omit<SignedPart, 'signature'>) =>
  hmacHex(key, `${uploadId} ${number} ${expires}`);

/**
 * An address that takes the part by PUT for an hour: of the storage, or of this service. `isWhole`: the first part is
 * the whole file.
 */
export async function signPart(
  deps: Pick<UploadsDeps, 'sql' | 'storages' | 'clock' | 'signingKey' | 'backendUrl'>,
  orgId: string,
  name: UploadName,
  partNumber: number,
  isWhole = false,
): Promise<{ url: string; headers: Readonly<Record<string, string>> }> {
  const row = await getUpload(deps, orgId, name);
  const { multipart } = await openParts(deps, row);
  if (multipart.sign) {
    const size = isWhole ? row.bytes : multipart.partBytes(row.bytes);
    return multipart.sign(providerUploadOf(row), partNumber, SIGNED_SECONDS, lengthOf(row, size, partNumber));
  }
  const part = { uploadId: row.id, number: partNumber, expires: secondsNow(deps.clock) + SIGNED_SECONDS };
  const query = new URLSearchParams({
    expires: String(part.expires),
    signature: signatureOf(deps.signingKey, part),
  });
  return { url: `${deps.backendUrl}/uploads/${row.id}/${partNumber}?${query.toString()}`, headers: {} };
}

/**
 * The bytes of a part that goes straight to a bucket of the instance, of which nobody here sees how many come: together
 * the parts have what was announced. In a bucket that the organization brought a part may be of any length.
 */
function lengthOf(
  { ownStorage, bytes }: Pick<UploadRow, 'ownStorage' | 'bytes'>,
  size: number,
  partNumber: number,
): number | undefined {
  if (ownStorage) return undefined;
  const left = bytes - (partNumber - 1) * size;
  if (left <= 0)
    throw invalidField(
      'partNumber',
      `the ${bytes} bytes that were announced are ${Math.ceil(bytes / size)} parts of ${size} bytes`,
      'range',
    );
  return Math.min(size, left);
}

/** Takes a part at an address of this service; answers its tag. */
export async function takePart(deps: UploadsDeps, part: SignedPart, request: IncomingMessage): Promise<string> {
  try {
    return await storePart(deps, part, request);
  } catch (error) {
    if (!request.readableEnded) drainRequest(request);
    throw error;
  }
}

async function storePart(
  deps: UploadsDeps,
  { signature, ...part }: SignedPart,
  request: IncomingMessage,
): Promise<string> {
  const { sql, clock, incoming, partsInFlight, signingKey } = deps;
  if (!equalSecrets(signature, signatureOf(signingKey, part)))
    throw new AppError('forbidden', 'This address was not signed here');
  if (part.expires < secondsNow(clock))
    throw new AppError('link_expired', 'This address has expired: ask for another one');
  const row = await uploadOfPart(sql, part.uploadId);
  if (!row) throw unknownUpload();
  const bytes = Number(request.headers['content-length'] ?? 0);
  if (!(bytes > 0)) throw new AppError('invalid_request', 'Send the part as the body, with its Content-Length');
  using sending = partsInFlight.begin(part, bytes, () => request.destroy());
  const { multipart } = await openParts(deps, row);
  const upload = providerUploadOf(row);
  const fits = async (anew: boolean): Promise<boolean> => {
    const arrived = await partsInFlight.arrived(row.id, () => multipart.parts(upload), { anew });
    if (!arrived) throw unknownUpload();
    return sending.bytesWith(arrived) <= row.bytes;
  };
  // a part may have been sent again, and be smaller, at another process
  if (!(await fits(false)) && !(await fits(true)))
    throw new AppError('too_large', `The parts are larger than the ${row.bytes} bytes that were announced`);
  const put = await multipart.put(upload, part.number, request, bytes).catch(async (error: unknown) => {
    if (!(await multipart.parts(upload))) throw unknownUpload(); // completed or given up while the part came
    throw row.storageSettingId === null ? incoming.worded(error) : error; // the disk of this machine is ours
  });
  await sending.arrived(put);
  return put.etag;
}

export async function listParts(
  deps: Pick<UploadsDeps, 'sql' | 'storages'>,
  orgId: string,
  name: UploadName,
): Promise<readonly Part[]> {
  const row = await getUpload(deps, orgId, name);
  const parts = await (await openParts(deps, row)).multipart.parts(providerUploadOf(row));
  if (!parts) throw unknownUpload();
  return parts;
}
