import { z } from 'zod';
import { type FieldError, fieldError, validationFailed } from '../platform/kernel/index.ts';
import { type Dimension, DIMENSIONS, isDimension, type PlanLimits, type Plan } from './plans.ts';

/** Packs that an org has bought, by dimension. */
export type Packs = PlanLimits;
/** The increase by one pack, by dimension. */
export type PackSizes = Readonly<Record<Dimension, { packSize: number }>>;
/** Limits that an operator has set by hand (S76); they live with the org. */
export type Overrides = Readonly<Partial<Record<Dimension, number>>>;

export const StoredOverrides = z.partialRecord(z.enum(DIMENSIONS), z.number().int().min(0));

export interface Limit {
  plan: number;
  addons: number;
  override: number | null;
  /** An override replaces base and packs, and wins last (LM10). */
  effective: number;
}

export function limitsOf(
  plan: Plan,
  packs: Packs,
  sizes: PackSizes,
  overrides: Overrides,
): Readonly<Record<Dimension, Limit>> {
  const limitOf = (dimension: Dimension): Limit => {
    const addons = packs[dimension] * sizes[dimension].packSize;
    const override = overrides[dimension] ?? null;
    return { plan: plan.limits[dimension], addons, override, effective: override ?? plan.limits[dimension] + addons };
  };
  return Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, limitOf(dimension)])) as Record<Dimension, Limit>;
}

/**
 * Upper bounds for every organization, whatever plan or setting says: each row is asked for often, or makes calls to
 * others.
 */
export const CEILINGS: Readonly<Partial<Record<Dimension, number>>> = {
  webhooks: 200,
  competitors: 1_000,
  channel: 10_000,
  team_members: 10_000,
};

/**
 * Overrides after a change: a number sets, `null` clears, what is absent stays (AD). One unknown key or odd value
 * refuses all of it.
 */
export function changeOverrides(overrides: Overrides, change: Readonly<Record<string, number | null>>): Overrides {
  const faults = Object.entries(change).flatMap(([key, value]): FieldError[] => {
    const field = `overrides.${key}`;
    if (!isDimension(key)) return [fieldError(field, `one of ${DIMENSIONS.join(', ')}`, 'invalid_key')];
    if (value !== null && !(Number.isSafeInteger(value) && value >= 0))
      return [fieldError(field, 'a whole number from 0, or null', 'invalid_value')];
    const ceiling = CEILINGS[key];
    if (value !== null && ceiling !== undefined && value > ceiling)
      return [fieldError(field, `at most ${ceiling}: no organization may have more`, 'too_big')];
    return [];
  });
  if (faults.length > 0) throw validationFailed(faults);
  return Object.fromEntries(
    Object.entries({ ...overrides, ...change }).filter(([, value]) => value !== null),
  ) as Overrides;
}
