import { z } from 'zod';
import type { PostMedia } from './row.ts';

/** A file that a setting of a post names. */
export interface SettingFile {
  setting: string;
  item: PostMedia;
}

const Value = z.union([
  z.string().transform((path) => ({ path, alt: '' })),
  z.object({ id: z.string().optional(), path: z.string() }).transform((file) => ({ ...file, alt: '' })),
]);

/** The files that `settings` name in those of `fileSettings`: each an address, or a file as the library shows it. */
export const filesOfSettings = (
  fileSettings: readonly string[] | undefined,
  settings: Readonly<Record<string, unknown>>,
): SettingFile[] =>
  (fileSettings ?? []).flatMap((setting) => {
    const { data: item } = Value.safeParse(settings[setting]);
    return item && (item.path !== '' || 'id' in item) ? [{ setting, item }] : [];
  });
