import type { AppError } from '../../../platform/kernel/index.ts';
import type { FileFacts } from '../../../providers/registry/index.ts';
import type { PostsDeps } from '../deps.ts';
import type { FilesField } from '../ports.ts';
import { filesOfSettings } from '../setting-files.ts';
import type { ElementBody } from './body.ts';

/** The fields of an element that name files: the media of each item, then the settings. */
export interface ElementFields<F> {
  media: F[];
  settings: { setting: string; field: F }[];
}
export type JudgedFiles = readonly { facts: FileFacts | undefined; fault: AppError | undefined; path: string }[];

/** Names the fields of element `n` of a body, whose network is not known yet. */
export const filesOfElement = (
  { value, settings }: ElementBody,
  n: number,
  fileSettings: readonly string[],
): ElementFields<FilesField> => ({
  media: value.map(({ image }, index) => ({ at: `posts.${n}.value.${index}.image`, items: image })),
  settings: filesOfSettings(fileSettings, settings).map(({ setting, item }) => ({
    setting,
    field: { at: `posts.${n}.settings.${setting}`, items: [item], isOne: true },
  })),
});

/** An element whose files have the addresses of what is published. */
export const withPaths = (element: ElementBody, { media, settings }: ElementFields<JudgedFiles>): ElementBody => ({
  ...element,
  settings: { ...element.settings, ...placedSettings(element.settings, settings) },
  value: element.value.map((item, n) => ({
    ...item,
    image: item.image.map((one, index) => ({ ...one, path: media[n]![index]!.path })),
  })),
});

/** The settings among `values` that name a file by its id, with the address of what is published. */
export const placedSettings = (
  values: Readonly<Record<string, unknown>>,
  judged: readonly { setting: string; field: readonly { path: string }[] }[],
): Record<string, unknown> =>
  Object.fromEntries(
    judged.flatMap(({ setting, field: [file] }) => {
      const value = values[setting];
      return file && typeof value === 'object' ? [[setting, { ...value, path: file.path }]] : [];
    }),
  );

/** Judges the files of all elements together. */
export async function judgeFilesOfElements(
  media: PostsDeps['media'],
  orgId: string,
  elements: readonly ElementFields<FilesField>[],
): Promise<ElementFields<JudgedFiles>[]> {
  const fields = elements.flatMap((one) => [...one.media, ...one.settings.map(({ field }) => field)]);
  const judged = fields.some(({ items }) => items.length > 0) ? await media.judgeFiles(orgId, fields) : [];
  let next = 0;
  return elements.map((one) => ({
    media: one.media.map(() => judged[next++] ?? []),
    settings: one.settings.map(({ setting }) => ({ setting, field: judged[next++] ?? [] })),
  }));
}
