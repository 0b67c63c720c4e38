/**
 * Where what begins at this place ends: a comment, a text, or a body between dollar signs; undefined when none begins
 * here.
 */
function endOfQuoted(sql: string, at: number): number | undefined {
  const until = (end: string, from: number) => {
    const found = sql.indexOf(end, from);
    return found === -1 ? sql.length : found + end.length;
  };
  if (sql.startsWith('--', at)) return until('\n', at);
  if (sql.startsWith('/*', at)) return until('*/', at + 2);
  if (sql[at] === "'") return until("'", at + 1);
  const tag = sql[at] === '$' ? /^\$\w{0,60}\$/.exec(sql.slice(at, at + 62))?.[0] : undefined;
  return tag === undefined ? undefined : until(tag, at + tag.length);
}

/** The statements without comments, texts and bodies of functions, in lower case and with single spaces. */
function bare(sql: string): string[] {
  let kept = '';
  for (let at = 0; at < sql.length;) {
    const end = endOfQuoted(sql, at);
    kept += end === undefined ? sql[at]! : ' ';
    at = end ?? at + 1;
  }
  return kept.split(';').map((statement) => statement.toLowerCase().split(/\s+/).filter(Boolean).join(' '));
}

/** The parts that an `alter table` may drop without losing what was written. */
const HARMLESS = /\bdrop (constraint|default|not null|identity|expression)\b/g;

/** Tells whether a migration loses tables, columns or rows. */
export const dropsData = (sql: string): boolean =>
  bare(sql).some(
    (statement) =>
      /^(drop (table|schema|database|owned|materialized view|sequence|extension)|truncate|delete from)\b/.test(
        statement,
      ) ||
      (statement.startsWith('alter table') && statement.replaceAll(HARMLESS, '').includes(' drop ')),
  );
