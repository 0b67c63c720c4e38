import { notFound } from '../../src/platform/kernel/index.ts';

/** The two parts by which the library knows an upload. */
interface UploadName {
  uploadId: string;
  key: string;
}

/** One text for both parts of the name of an upload. */
export const textOfUpload = ({ uploadId, key }: UploadName): string => `${uploadId}:${key}`;

export function uploadOfText(text: string): UploadName {
  const [, uploadId, key] = /^([^:]+):(.+)$/.exec(text) ?? [];
  if (uploadId === undefined || key === undefined) throw notFound('Upload not found');
  return { uploadId, key };
}
