import type { Limits } from './_contract.ts';
import type { FileFacts, Issue } from './_limits.ts';

/** The settings of a post that would have no effect beside these files; `field` is the name of the setting. */
export function* checkIdleSettings(
  { idleSettings: { names, unlessVideo } = { names: [] } }: Limits,
  files: readonly (FileFacts | undefined)[],
  settings: Readonly<Record<string, unknown>>,
): Generator<Issue> {
  const isVideo = files.length === 1 && (!files[0] || files[0].contentType.startsWith('video/')); // one outside may be
  if (unlessVideo && isVideo) return;
  const sentence = unlessVideo ? 'has an effect on a single video alone' : 'has no effect on a post of this type';
  for (const name of names)
    if (settings[name]) yield { field: name, message: `${name} ${sentence}`, rule: 'no_effect' };
}
