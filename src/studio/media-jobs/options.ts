import { invalidField, notFound } from '../../platform/kernel/index.ts';
import {
  type MediaAdapter,
  type MediaOperation,
  type MediaStudio,
  PROMPT_LENGTH,
  studios,
  type Takes,
  takesOf,
  type Use,
} from '../../providers/registry/index.ts';
import { mediaModelOf, providerFailureOf } from '../models/index.ts';
import type { NewMedia } from './create.ts';
import type { MediaJobsDeps } from './deps.ts';
import { type AskedJob, VIDEOS } from './rules.ts';
import { type ModelChoice, type VideoValue, videoValuesOf } from './video-values.ts';

export const FORMS = ['vertical', 'horizontal'] as const;
export type Form = (typeof FORMS)[number];
const PLACEMENTS = ['text-to-video', 'image-to-video', 'video-to-video'] as const;

/** A way to make a video with what is set up for an organization (S151). */
export interface VideoOption {
  /** `<provider>/<operation>`, or the name of a studio. */
  identifier: string;
  title: string;
  description: string;
  /** Values of `customParams`, by the model that is taken unless another one is named. */
  tools: readonly VideoValue[];
  /** Of each group one must be given: a name of `tools`, or a kind of file among `sources`. */
  anyOf: readonly (readonly string[])[];
  placement: (typeof PLACEMENTS)[number];
  /** The forms that can be chosen; none where the provider decides. */
  output: readonly Form[];
}

type Deps = Pick<MediaJobsDeps, 'settings' | 'providers' | 'models'>;
interface VideoSource {
  identifier: string;
  adapter: MediaAdapter;
  use: Use;
  operation: MediaOperation;
  studio: MediaStudio | undefined;
}

/** Every way by the settings of an organization, before those of the instance; each provider once. */
async function sourcesOf({ settings }: Pick<Deps, 'settings'>, orgId: string): Promise<VideoSource[]> {
  const found = new Map<string, VideoSource>();
  for (const owner of [orgId, null])
    for (const { adapter, values } of await settings.usable(owner, 'media')) {
      const use = { orgId: owner, values };
      const add = (identifier: string, operation: MediaOperation, studio?: MediaStudio) => {
        if (!found.has(identifier)) found.set(identifier, { identifier, adapter, use, operation, studio });
      };
      for (const operation of VIDEOS)
        if (adapter.facts.operations.includes(operation)) add(`${adapter.id}/${operation}`, operation);
      for (const studio of studios)
        if (studio.adapter === adapter.id && takesOf(adapter, 'video', studio.models[0] ?? null))
          add(studio.id, 'video', studio);
    }
  return [...found.values()];
}

async function sourceOf(
  deps: Pick<Deps, 'settings'>,
  orgId: string,
  identifier: string,
  field: string,
): Promise<VideoSource> {
  const way = (await sourcesOf(deps, orgId)).find((one) => one.identifier === identifier);
  if (way) return way;
  throw invalidField(field, 'take one of /files/video-options', 'unknown_id');
}

/** What a way takes, and of which model; `model` undefined: none is taken unless it is named. */
function takenBy({ adapter, use, operation, studio }: VideoSource) {
  const chosen = studio?.models[0] === undefined ? mediaModelOf({ adapter, values: use.values }, operation) : undefined;
  const model = chosen ? chosen.model : studio!.models[0];
  const takes = model === undefined ? adapter.anyModel?.operations[operation] : takesOf(adapter, operation, model);
  return { model, takes: takes ?? {} };
}

/** The models among which a request of this way can choose. */
function choiceOf({ adapter, operation, studio }: VideoSource, model: string | null | undefined): ModelChoice {
  const known = adapter.models.filter(({ operations }) => operations[operation]).map(({ id }) => id);
  return { models: studio?.models ?? known, isNeeded: model === undefined };
}

/** Hubs end the name of a model with what it starts from. */
const NAMED_PLACEMENTS: ReadonlyMap<string | undefined, VideoOption['placement']> = new Map([
  ...PLACEMENTS.map((placement) => [placement, placement] as const),
  ['reference-to-video', 'image-to-video'],
]);
const namedPlacementOf = (model: string | null | undefined) => NAMED_PLACEMENTS.get(model?.split('/').at(-1));

/** The model of a studio by whether there is something to start from; its first one where their names do not tell. */
function studioModelOf({ models }: MediaStudio, hasSources: boolean): string | undefined {
  const placement = hasSources ? 'image-to-video' : 'text-to-video';
  return models.find((model) => namedPlacementOf(model) === placement) ?? models[0];
}

export const listVideoOptions = async (deps: Pick<Deps, 'settings'>, orgId: string): Promise<VideoOption[]> =>
  (await sourcesOf(deps, orgId)).map((way): VideoOption => {
    const { adapter, operation, studio, identifier } = way;
    const { model, takes } = takenBy(way);
    return {
      identifier,
      title: studio?.name ?? `${adapter.title}: ${operation}`,
      description: adapter.description,
      tools: videoValuesOf(takes, choiceOf(way, model), PROMPT_LENGTH),
      anyOf: takes.anyOf ?? [],
      placement: namedPlacementOf(model) ?? placementOf(takes),
      output: FORMS.filter((form) => shapeOf(takes, form) !== undefined),
    };
  });

function placementOf({ sources }: Takes): VideoOption['placement'] {
  if (!sources || sources.min === 0) return 'text-to-video';
  return sources.kinds.includes('image') ? 'image-to-video' : 'video-to-video';
}

/** Lists what a value of an option can be, such as voices or avatars; 404 where the provider has no such list. */
export async function listVideoTool(
  deps: Pick<Deps, 'settings' | 'providers'>,
  orgId: string,
  { identifier, tool }: { identifier: string; tool: string },
): Promise<readonly { id: string; label: string }[]> {
  const way = await sourceOf(deps, orgId, identifier, 'identifier');
  const { tools = {} } = deps.providers.mediaService(way.adapter, way.use);
  const list = Object.hasOwn(tools, tool) ? tools[tool] : undefined;
  if (list)
    return list().catch((error: unknown) => {
      throw providerFailureOf(error, way.adapter);
    });
  const { voices } = takenBy(way).takes;
  if (tool !== 'voices' || !voices || voices === 'any') throw notFound(`${way.adapter.title} has no list ${tool}`);
  return voices.map((id) => ({ id, label: id }));
}

type Sides = readonly [width: number, height: number];
const sidesOf = (text: string): Sides => {
  const [width = 0, height = 0] = text.split(/[:x]/).map(Number);
  return [width, height];
};
const isForm = (form: Form, [width, height]: Sides) => (form === 'vertical' ? height > width : width > height);
const USUAL: Readonly<Record<Form, string>> = { vertical: '9:16', horizontal: '16:9' };

/** The ratio or size that gives a form: the usual one where it is offered. Undefined: the form cannot be chosen. */
function shapeOf({ ratios = [], sizes = [] }: Takes, form: Form): Pick<AskedJob, 'ratio' | 'size'> | undefined {
  const ratio = ratios.includes(USUAL[form]) ? USUAL[form] : ratios.find((one) => isForm(form, sidesOf(one)));
  if (ratio !== undefined) return { ratio };
  const size = sizes.find((one) => isForm(form, sidesOf(one)));
  return size === undefined ? undefined : { size };
}

/** A video as it is asked for (S151). */
export interface AskedVideo {
  type: string;
  output?: Form | undefined;
  customParams: Partial<NewMedia['request']> & { model?: string | undefined };
}

/** The job of a video; 400 for a type that nobody offers, and for a form that its model does not have. */
export async function videoRequestOf(
  deps: Deps,
  orgId: string,
  { type, output, customParams: { model, ...given } }: AskedVideo,
): Promise<NewMedia> {
  const way = await sourceOf(deps, orgId, type, 'type');
  const { studio, operation, adapter } = way;
  if (studio && model !== undefined && !studio.models.includes(model))
    throw invalidField('customParams.model', `one of ${studio.models.join(', ')}`, 'invalid_value');
  const request = { ...given, sources: given.sources ?? [] };
  const own = studio && studioModelOf(studio, request.sources.length > 0);
  const wanted = { operation, providerId: adapter.id, model: model ?? own };
  const [first] = await deps.models.resolveMedia(orgId, wanted);
  const isShaped = given.ratio !== undefined || given.size !== undefined;
  const shape =
    output === undefined || isShaped || !first
      ? {}
      : shapeOf(takesOf(first.adapter, operation, first.model) ?? {}, output);
  if (shape === undefined)
    throw invalidField('output', `${adapter.title} decides the form of the video itself, leave it out`, 'unsupported');
  return { ...wanted, request: { ...request, ...shape }, at: 'customParams.' };
}
