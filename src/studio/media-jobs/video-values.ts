import type { SourceFile, Takes } from '../../providers/registry/index.ts';

/** A value of `customParams` that a way to make a video takes. */
export interface VideoValue {
  /** The name of the field, or `options.<name>`. */
  name: string;
  label: string;
  required: boolean;
  /** The list of the provider that tells what it can be. */
  tool: string | null;
  /** What it can be, where that is known. */
  values?: (string | number)[];
  range?: { from: number; to: number };
  /** Greatest number of characters. */
  maxLength?: number;
  /** Kinds of files of the library, with how many. */
  files?: { kinds: SourceFile['kind'][]; min: number; max: number };
}

/** The models among which a request can choose; `isNeeded`: none is taken unless it is named. */
export interface ModelChoice {
  models: readonly string[];
  isNeeded: boolean;
}

type Bounds = Partial<Omit<VideoValue, 'name' | 'label'>>;
const valueOf = (name: string, label: string, bounds: Bounds): VideoValue => ({
  name,
  label,
  required: false,
  tool: null,
  ...bounds,
});

const oneOf = (values: readonly string[] | undefined) => (values?.length ? { values: [...values] } : undefined);
function lengthOf({ seconds, secondsNeeded }: Takes): Bounds | undefined {
  if (!seconds) return undefined;
  const bounds = 'from' in seconds ? { range: { ...seconds } } : { values: [...seconds] };
  return { required: secondsNeeded === true, ...bounds };
}
function voiceOf({ voices }: Takes): Bounds | undefined {
  return voices && { tool: 'voices', ...(voices !== 'any' && { values: [...voices] }) };
}

/**
 * Lists the values by what the model takes, as requests are checked; `promptLength` is of a model that states none. Of a
 * group of which one must be given nothing is `required` here, unless it is alone.
 */
export function videoValuesOf(takes: Takes, { models, isNeeded }: ModelChoice, promptLength: number): VideoValue[] {
  const { prompt = 'required', ratios, sizes, count = 1, languages, sources, options = {}, anyOf = [] } = takes;
  const listed: [name: string, label: string, bounds: Bounds | undefined][] = [
    [
      'prompt',
      'Prompt',
      prompt === 'none'
        ? undefined
        : { required: prompt === 'required', maxLength: takes.promptLength ?? promptLength },
    ],
    [
      'sources',
      'Files to start from',
      sources && {
        required: sources.min > 0,
        files: { kinds: [...sources.kinds], min: sources.min, max: sources.max },
      },
    ],
    ['model', 'Model', isNeeded || models.length > 1 ? { required: isNeeded, ...oneOf(models) } : undefined],
    ['seconds', 'Length in seconds', lengthOf(takes)],
    ['ratio', 'Width to height', oneOf(ratios)],
    ['size', 'Size', oneOf(sizes)],
    ['count', 'Number of results', count > 1 ? { range: { from: 1, to: count } } : undefined],
    ...Object.entries(options).map(([name, { label, required = false, tool = null }]): (typeof listed)[number] => [
      `options.${name}`,
      label,
      { required, tool },
    ]),
    ['voice', 'Voice', voiceOf(takes)],
    ['language', 'Language', languages && (languages === true ? {} : oneOf(languages))],
  ];
  const alone = new Set(anyOf.flatMap((group) => (group.length === 1 ? group : [])));
  return listed.flatMap(([name, label, bounds]) =>
    bounds ? [valueOf(name, label, alone.has(name) ? { ...bounds, required: true } : bounds)] : [],
  );
}
