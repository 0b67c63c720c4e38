import { AppError, invalidField } from '../../platform/kernel/index.ts';
import {
  type AdapterOf,
  type AiAdapter,
  type AiPurpose,
  isDefaultFor,
  type MediaAdapter,
  type MediaOperation,
  type Providers,
  type Use,
  type Values,
} from '../../providers/registry/index.ts';
import type { Configured, Owner, ProviderSettings } from '../../providers/settings/index.ts';
import {
  aiOffer,
  type Chosen,
  chooseModel,
  KIND_OF,
  mediaOffer,
  type ModelOffer,
  purposeOfOperation,
} from './ability.ts';
import type { ModelLists } from './lists.ts';

/** What the room is opened with, and its lists of models. */
export interface ModelsDeps {
  providers: Pick<Providers, 'list' | 'ai'>;
  settings: Pick<ProviderSettings, 'usable'>;
  lists: ModelLists;
}

/** What a request names of provider and model; each is optional. */
export interface WantedModel {
  providerId?: string | undefined;
  version?: string | undefined;
  model?: string | undefined;
}
/** A provider with the key of its owner, and the model that would do the work. */
export interface Candidate<A, M> {
  adapter: A;
  use: Use;
  model: M;
  settingId: string;
}
export type AiCandidate = Candidate<AiAdapter, string>;
/** `model` is null where the provider does it without one. */
export type MediaCandidate = Candidate<MediaAdapter, string | null>;

/**
 * Answers who may do the work, in the order in which they are asked: the provider that the request names, else the
 * setting of the organization that is the default for the purpose, else its default of the domain, then its others;
 * those of the instance where it has none that can.
 *
 * @throws AppError 400 where nobody is set up who can
 */
export async function resolveAi(
  deps: ModelsDeps,
  orgId: string,
  { purpose, ...wanted }: WantedModel & { purpose: AiPurpose },
): Promise<AiCandidate[]> {
  const offerOf = (adapter: AiAdapter) => aiOffer(adapter, purpose);
  const found = await resolve(deps, orgId, { domain: 'ai', what: purpose, purpose, offerOf, wanted });
  const [first] = found;
  if (wanted.model !== undefined && first && !offerOf(first.adapter).can.includes(wanted.model))
    await checkListed(deps, first, purpose, wanted.model);
  return found.map(({ model, ...candidate }) => ({ ...candidate, model: model! })); // none of them has actions
}

/** The same for an operation on media. */
export const resolveMedia = (
  deps: ModelsDeps,
  orgId: string,
  { operation, ...wanted }: WantedModel & { operation: MediaOperation },
): Promise<MediaCandidate[]> =>
  resolve(deps, orgId, {
    domain: 'media',
    what: operation,
    purpose: purposeOfOperation(operation),
    offerOf: (adapter) => mediaOffer(adapter, operation),
    wanted,
  });

interface Question<D extends 'ai' | 'media'> {
  domain: D;
  /** The kind of work in words. */
  what: string;
  purpose: string | undefined;
  offerOf(adapter: AdapterOf[D]): ModelOffer;
  wanted: WantedModel;
}

async function resolve<D extends 'ai' | 'media'>(
  { providers, settings }: Pick<ModelsDeps, 'providers' | 'settings'>,
  orgId: string,
  question: Question<D>,
): Promise<Candidate<AdapterOf[D], string | null>[]> {
  const { domain, what, wanted } = question;
  const { providerId } = wanted;
  if (providerId !== undefined && !providers.list(domain).some(({ id }) => id === providerId))
    throw invalidField('providerId', `there is no ${domain} provider of this id`, 'invalid_value');
  const faults: string[] = [];
  for (const owner of [orgId, null]) {
    const usable = (await settings.usable(owner, domain)).filter((one) => isWanted(one, wanted));
    const { candidates, fault } = judged(question, owner, usable);
    if (candidates.length > 0) return candidates;
    if (fault !== undefined) faults.push(fault);
  }
  const [fault] = faults;
  if (fault !== undefined) throw invalidField('model', fault, 'unsupported');
  if (providerId !== undefined)
    throw invalidField(
      wanted.version === undefined ? 'providerId' : 'version',
      `${providerId} is not set up here${wanted.version === undefined ? '' : ` in version ${wanted.version}`}: set its key in the settings of providers`,
      'not_configured',
    );
  throw new AppError(
    'invalid_request',
    `No provider for ${what} is set up: set one of the domain ${domain} in the settings of providers`,
  );
}

/** The model that a setting names for a purpose. */
const ownModelOf = (values: Values, purpose: string | undefined): string | undefined =>
  purpose === undefined ? undefined : values[`${purpose}Model`] || undefined;

/** The model that a setting does an operation with when none is named, or why it does not. */
export const mediaModelOf = (
  { adapter, values }: Pick<Configured<MediaAdapter>, 'adapter' | 'values'>,
  operation: MediaOperation,
): Chosen =>
  chooseModel(
    adapter.title,
    mediaOffer(adapter, operation),
    operation,
    ownModelOf(values, purposeOfOperation(operation)),
  );

const isWanted = ({ adapter }: Configured, { providerId, version }: WantedModel): boolean =>
  (providerId === undefined || adapter.id === providerId) && (version === undefined || adapter.version === version);

/** The settings of one owner that can do it, in their order, and what the first that cannot lacks. */
function judged<D extends 'ai' | 'media'>(
  { what, purpose, offerOf, wanted }: Question<D>,
  owner: Owner,
  usable: readonly Configured<AdapterOf[D]>[],
) {
  const isDefault = ({ values }: Configured<AdapterOf[D]>) => purpose !== undefined && isDefaultFor(values, purpose);
  const ordered = usable.toSorted((a, b) => Number(isDefault(b)) - Number(isDefault(a)));
  const all = ordered.map(({ id, adapter, values }) => {
    const offer = offerOf(adapter);
    const own = ownModelOf(values, purpose);
    const { model, fault } = chooseModel(adapter.title, offer, what, wanted.model ?? own);
    const isKnown = wanted.model === undefined || offer.can.includes(wanted.model) || wanted.model === own;
    return {
      fault,
      isKnown,
      candidate: { adapter, use: { orgId: owner, values }, model: model ?? null, settingId: id },
    };
  });
  const able = all.filter(({ fault }) => fault === undefined);
  const knowing = able.filter(({ isKnown }) => isKnown);
  // a model that nobody knows is for the first alone: the others would not have it either
  const asked =
    wanted.providerId === undefined && knowing.length === 0 ? able.slice(0, 1) : knowing.length > 0 ? knowing : able;
  return {
    candidates: asked.map(({ candidate }) => candidate),
    fault: all.find(({ fault }) => fault !== undefined)?.fault,
  };
}

/** Refuses a model that is not in the list of its provider, where it has one; models that its setting names pass. */
async function checkListed(
  { lists }: Pick<ModelsDeps, 'lists'>,
  { adapter, use, settingId }: AiCandidate | Candidate<AiAdapter, string | null>,
  purpose: AiPurpose,
  model: string,
): Promise<void> {
  if (Object.entries(use.values).some(([name, value]) => /Model$|^prices$/.test(name) && value.includes(model))) return;
  const listed = adapter.listModels && (await lists.of({ adapter, use, settingId }));
  if (!listed) return; // the provider will say
  const found = listed.find(({ id }) => id === model);
  if (!found) throw invalidField('model', `${adapter.title} has no ${model}`, 'unsupported');
  if (!found.kinds.includes(KIND_OF[purpose]))
    throw invalidField('model', `${model} of ${adapter.title} cannot do ${purpose}`, 'unsupported');
}
