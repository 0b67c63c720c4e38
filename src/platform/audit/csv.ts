/** The first characters by which a spreadsheet takes a cell for a formula. */
const FORMULA = /^[=+\-@\t\r]/;

/** Cells of a CSV file (RFC 4180), quoted. One that would be a formula begins with an apostrophe and is read as text. */
export const csvCells = (cells: readonly (string | null)[]): string =>
  cells
    .map((cell) => `"${(cell === null ? '' : FORMULA.test(cell) ? `'${cell}` : cell).replaceAll('"', '""')}"`)
    .join(',');

/** One line of a CSV file, with its end. */
export const csvLine = (cells: readonly (string | null)[]): string => `${csvCells(cells)}\r\n`;
