/** A column of a table: its head, and the text of a row. */
export type Column<T> = readonly [head: string, text: (row: T) => Cell];
type Cell = string | number | boolean | null | undefined;

export interface Output {
  /** Data: JSON with `--json`, else a table of the columns. */
  rows<T>(rows: readonly T[], columns: readonly Column<T>[]): void;
  /** The same, where JSON is more than the rows. */
  many<T>(whole: unknown, rows: readonly T[], columns: readonly Column<T>[]): void;
  /** Data of one thing: JSON with `--json`, else a line for each column. */
  one<T>(value: T, columns: readonly Column<T>[]): void;
  /** One thing of many, as it comes: a line of JSON, or of the columns. */
  line<T>(value: T, columns: readonly Column<T>[]): void;
  /** Data as it is. */
  raw(text: string): void;
  /** Words for people. */
  say(text: string): void;
  /** From now on never written. */
  hide(secret: string): void;
}

/** What is shorter is no secret, and would be found in other words. */
const SHORTEST = 8;

/** Texts of others could steer the terminal. */
// oxlint-disable-next-line no-control-regex -- these are what is taken out
const plain = (value: Cell) => String(value ?? '').replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');

export function openOutput(write: { out: (text: string) => void; err: (text: string) => void }, isJson: () => boolean) {
  const secrets = new Set<string>();
  const safe = (text: string) => [...secrets].reduce((whole, secret) => whole.replaceAll(secret, '***'), text);
  const out = (text: string) => write.out(`${safe(text)}\n`);
  const output: Output = {
    rows: (rows, columns) => output.many(rows, rows, columns),
    many(whole, rows, columns) {
      if (isJson()) return out(JSON.stringify(whole, undefined, 2));
      const table = [columns.map(([head]) => head), ...rows.map((row) => columns.map(([, text]) => plain(text(row))))];
      const widths = columns.map((_, n) => Math.max(...table.map((cells) => cells[n]!.length)));
      for (const cells of table)
        out(
          cells
            .map((cell, n) => cell.padEnd(widths[n]!))
            .join('  ')
            .trimEnd(),
        );
    },
    one(value, columns) {
      if (isJson()) return out(JSON.stringify(value, undefined, 2));
      const width = Math.max(...columns.map(([head]) => head.length));
      for (const [head, text] of columns) out(`${head.padEnd(width)}  ${plain(text(value))}`.trimEnd());
    },
    line(value, columns) {
      out(isJson() ? JSON.stringify(value) : columns.map(([, text]) => plain(text(value))).join('  '));
    },
    raw: out,
    say: (text) => write.err(`${safe(text)}\n`),
    hide: (secret) => void (secret.length >= SHORTEST && secrets.add(secret)),
  };
  return output;
}
