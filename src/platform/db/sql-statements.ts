/** Where what begins at this place ends: a comment, a text, a name or a body between dollar signs; else undefined. */
function endOfQuoted(sql: string, at: number): number | undefined {
  const until = (end: string, from: number) => {
    const found = sql.indexOf(end, from);
    return found === -1 ? sql.length : found + end.length;
  };
  if (sql.startsWith('--', at)) return until('\n', at);
  if (sql.startsWith('/*', at)) return until('*/', at + 2);
  if (sql[at] === "'" || sql[at] === '"') return until(sql[at]!, at + 1);
  const tag = sql[at] === '$' ? /^\$\w{0,60}\$/.exec(sql.slice(at, at + 62))?.[0] : undefined;
  return tag === undefined ? undefined : until(tag, at + tag.length);
}

/** A statement of a file: as it is written, without comments before it; and without comments, texts and bodies, in lower case and single spaces. */
export interface SqlStatement {
  text: string;
  bare: string;
}

/** Splits a file into its statements; what holds comments alone is none. */
export function statementsOf(sql: string): SqlStatement[] {
  const statements: SqlStatement[] = [];
  let [text, bare] = ['', ''];
  const close = () => {
    bare = bare.toLowerCase().split(/\s+/).filter(Boolean).join(' ');
    if (bare !== '') statements.push({ text: text.trim(), bare });
    [text, bare] = ['', ''];
  };
  for (let at = 0; at < sql.length;) {
    const end = endOfQuoted(sql, at) ?? at + 1;
    const piece = sql.slice(at, end);
    at = end;
    const isComment = /^(--|\/\*)/.test(piece);
    if (piece === ';') close();
    else if (isComment && text.trim() === '') text = '';
    else {
      text += piece;
      bare += piece.length === 1 || piece.startsWith('"') ? piece : ' ';
    }
  }
  close();
  return statements;
}
