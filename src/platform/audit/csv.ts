/** The first characters by which a spreadsheet takes a cell for a formula. */
const FORMULA = /^[=+\-@\t\r]/;

/** One line of a CSV file (RFC 4180). A cell that would be a formula begins with an apostrophe and is read as text. */
export const csvLine = (cells: readonly (string | null)[]): string =>
  `${cells.map((cell) => `"${(cell === null ? '' : FORMULA.test(cell) ? `'${cell}` : cell).replaceAll('"', '""')}"`).join(',')}\r\n`;
