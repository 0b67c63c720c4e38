import {
  type AiAdapter,
  type AiKind,
  type AiPurpose,
  type MediaAdapter,
  MEDIA_PURPOSES,
  type MediaOperation,
} from '../../providers/registry/index.ts';

/** What a provider offers for one kind of work. */
export interface ModelOffer {
  /** Models that can do it, the default one first. */
  can: readonly string[];
  /** Models that are known and cannot. */
  cannot: readonly string[];
  /** Whether models beside the known ones are taken. */
  takesOthers: boolean;
  /** The provider does it without a model. */
  isAction: boolean;
}

/** What a model must be able to do for a purpose. */
export const KIND_OF: Readonly<Record<AiPurpose, AiKind>> = { text: 'text', vision: 'vision', embedding: 'embedding' };

const split = <M extends { id: string }>(models: readonly M[], can: (model: M) => boolean) => ({
  can: models.filter(can).map(({ id }) => id),
  cannot: models.filter((model) => !can(model)).map(({ id }) => id),
});

/** What a provider of language models offers for a purpose: beside the models that are known it has others. */
export function aiOffer(
  { models, capabilities }: Pick<AiAdapter, 'models' | 'capabilities'>,
  purpose: AiPurpose,
): ModelOffer {
  const kind = KIND_OF[purpose];
  return {
    ...split(models, ({ kinds }) => kinds.includes(kind)),
    takesOthers: capabilities.includes(kind),
    isAction: false,
  };
}

/** What a provider of media offers for an operation. */
export const mediaOffer = (
  { models, actions, anyModel }: Pick<MediaAdapter, 'models' | 'actions' | 'anyModel'>,
  operation: MediaOperation,
): ModelOffer => ({
  ...split(models, ({ operations }) => operations[operation] !== undefined),
  takesOthers: anyModel?.operations[operation] !== undefined,
  isAction: actions?.[operation] !== undefined,
});

/** The purpose under which settings name a model for an operation; undefined: none has one. */
export const purposeOfOperation = (operation: MediaOperation): string | undefined =>
  Object.entries(MEDIA_PURPOSES).find(([, one]) => one === operation)?.[0];

/** The model that a provider does it with, or why it does not. */
export type Chosen = { model: string | null; fault?: never } | { model?: never; fault: string };

/** Chooses the model: the one that was asked for, else that of the setting, else the provider's default. */
export function chooseModel(title: string, offer: ModelOffer, what: string, wanted: string | undefined): Chosen {
  const { can, cannot, takesOthers, isAction } = offer;
  if (wanted === undefined) {
    if (can[0] !== undefined) return { model: can[0] };
    if (isAction) return { model: null };
    return { fault: takesOthers ? `name a model of ${title} for ${what}` : `${title} has none for ${what}` };
  }
  if (can.includes(wanted) || (takesOthers && !cannot.includes(wanted))) return { model: wanted };
  return { fault: cannot.includes(wanted) ? `${wanted} of ${title} cannot do ${what}` : `${title} has no ${wanted}` };
}
