import {
  type Database,
  replaceSealed,
  SEALED,
  type SealedColumn,
  type SealedText,
  sealedTexts,
} from '../../platform/db/index.ts';
import type { Clock, Vault } from '../../platform/kernel/index.ts';

const PAGE = 200;
const REST_MS = 1_000;
/** For one column while rows are held, or a process still writes with the former key. */
const PATIENCE_MS = 15 * 60_000;
const LEAST_PASSES = 5;

interface Options {
  sql: Database;
  vault: Vault;
  clock: Clock;
  say: (line: string) => void;
  patienceMs?: number;
}
interface Pass {
  renewed: number;
  /** Changed or held by somebody at that moment: for the next pass. */
  left: number;
  unreadable: number;
}

/**
 * Seals every stored secret by the key of today. The service may run meanwhile: a text is replaced only where it still
 * stands, so that nothing newly written is lost. Cut off, it goes on where it was at the next call: what is renewed
 * already is passed over. Answers the exit code: 0 when the former key is needed for nothing more.
 */
export async function reencrypt({ sql, vault, clock, say, patienceMs = PATIENCE_MS }: Options): Promise<number> {
  let open = false;
  for (const column of SEALED) {
    const { renewed, left, unreadable } = await renewColumn(column, { sql, vault, clock, patienceMs });
    say(
      `${column.table}.${column.column}: ${renewed} sealed anew${left > 0 ? `, ${left} left` : ''}${unreadable > 0 ? `, ${unreadable} open by no key` : ''}`,
    );
    open ||= left > 0 || unreadable > 0;
  }
  say(
    open
      ? 'Not finished. Texts that are left were in use, or a process still seals with the former key: restart it with the new one, then call this again. Texts that no key opens need the key that sealed them in ENCRYPTION_KEY_PREVIOUS.'
      : 'Finished: ENCRYPTION_KEY_PREVIOUS can be removed.',
  );
  return open ? 1 : 0;
}

/** Passes over one column until one of them finds nothing to do. */
async function renewColumn(
  column: SealedColumn,
  { sql, vault, clock, patienceMs }: Required<Omit<Options, 'say'>>,
): Promise<Pass> {
  const end = clock.monotonic() + patienceMs;
  let total = 0;
  for (let passes = 1; ; passes += 1) {
    const found = await pass(sql, vault, column);
    if (found.renewed === 0 && found.left === 0) return { ...found, renewed: total };
    total += found.renewed;
    // What is still found after many passes was written in between, by the former key.
    if (passes >= LEAST_PASSES && clock.monotonic() >= end)
      return { ...found, renewed: total, left: found.left + found.renewed };
    if (found.left > 0) await clock.sleep(Math.min(REST_MS, patienceMs));
  }
}

async function pass(sql: Database, vault: Vault, column: SealedColumn): Promise<Pass> {
  const found: Pass = { renewed: 0, left: 0, unreadable: 0 };
  for (let behind = '(0,0)'; ;) {
    const texts = await sealedTexts(sql, column, behind, PAGE);
    if (texts.length === 0) return found;
    behind = texts.at(-1)!.place;
    const stale: (SealedText & { fresh: string })[] = [];
    for (const text of texts)
      try {
        const fresh = vault.renew(text.sealed);
        if (fresh !== undefined) stale.push({ ...text, fresh });
      } catch {
        found.unreadable += 1;
      }
    if (stale.length === 0) continue;
    const renewed = await replaceSealed(sql, column, stale);
    found.renewed += renewed;
    found.left += stale.length - renewed;
  }
}
