import type { Billing } from '../../entitlements/index.ts';
import { type Database, keepAnswer, type KeptAnswer, type Sql } from '../../platform/db/index.ts';
import {
  bind,
  type FieldError,
  fieldError,
  isId,
  newId,
  notFound,
  pageOf,
  type RowPage,
  validationFailed,
} from '../../platform/kernel/index.ts';
import * as store from './store.ts';

interface BrandKitsDeps {
  sql: Database;
  billing: Pick<Billing, 'lockOrg' | 'admit'>;
}
export type BrandKits = ReturnType<typeof openBrandKits>;

/** Opens what organizations look and sound like. */
export const openBrandKits = (deps: BrandKitsDeps) =>
  bind(deps, { listBrandKits, getBrandKit, createBrandKit, changeBrandKit, removeBrandKit });

const unknownKit = () => notFound('Brand kit not found');

async function listBrandKits(
  { sql }: BrandKitsDeps,
  orgId: string,
  page: { limit: number; cursor?: string | undefined },
): Promise<RowPage<store.BrandKitRow>> {
  return pageOf(await store.selectBrandKits(sql, orgId, page), page.limit);
}

/** Throws `not_found`. */
async function getBrandKit({ sql }: { sql: Sql }, orgId: string, id: string): Promise<store.BrandKitRow> {
  const row = await store.findBrandKit(sql, orgId, id);
  if (!row) throw unknownKit();
  return row;
}

/** Makes a kit while the plan has room for it, else throws `limit_exceeded`; 400 names a logo that is not there. */
const createBrandKit = (
  { sql, billing }: BrandKitsDeps,
  orgId: string,
  { name, createdBy, ...fields }: store.BrandKitFields & { name: string; createdBy: string },
  kept?: KeptAnswer<store.BrandKitRow>,
): Promise<store.BrandKitRow> =>
  sql.begin(async (tx) => {
    await billing.lockOrg(tx, orgId);
    await billing.admit(tx, orgId, 'brand_kits');
    const id = newId();
    await store.insertBrandKit(tx, orgId, { id, name, createdBy });
    await write(tx, orgId, id, fields);
    const row = await getBrandKit({ sql: tx }, orgId, id);
    await keepAnswer(tx, kept, row);
    return row;
  });

/**
 * Changes a kit; what is absent stays. `onlyIf` is asked about the kit under the lock: false, and nothing is changed.
 * Throws `not_found`.
 */
const changeBrandKit = (
  { sql, billing }: BrandKitsDeps,
  orgId: string,
  id: string,
  change: store.BrandKitFields,
  onlyIf?: (kit: store.BrandKitRow) => boolean,
): Promise<store.BrandKitRow> =>
  sql.begin(async (tx) => {
    await billing.lockOrg(tx, orgId);
    if (!isId(id)) throw unknownKit();
    if (onlyIf) {
      const kit = await getBrandKit({ sql: tx }, orgId, id);
      if (!onlyIf(kit)) return kit;
    }
    await write(tx, orgId, id, change);
    return getBrandKit({ sql: tx }, orgId, id);
  });

/** Deletes a kit. Where it was the default one, there is none until another is made so. Throws `not_found`. */
async function removeBrandKit({ sql }: BrandKitsDeps, orgId: string, id: string): Promise<void> {
  if (!isId(id) || !(await store.deleteBrandKit(sql, orgId, id))) throw unknownKit();
}

/** Writes the fields of a kit, under the lock of the organization: one kit at most is the default one. */
async function write(sql: Sql, orgId: string, id: string, fields: store.BrandKitFields): Promise<void> {
  if (fields.logos) await checkLogos(sql, orgId, fields.logos);
  if (fields.isDefault) await store.clearDefault(sql, orgId, id);
  if (!(await store.updateBrandKit(sql, orgId, id, fields))) throw unknownKit();
}

async function checkLogos(sql: Sql, orgId: string, logos: readonly string[]): Promise<void> {
  const known = await store.knownPictures(sql, orgId, logos);
  const faults = logos.flatMap((id, n): FieldError[] =>
    known.has(id) ? [] : [fieldError(`logos.${n}`, 'names no picture of the library', 'unknown_id')],
  );
  if (faults.length > 0) throw validationFailed(faults);
}
