import { UsageError } from './exit.ts';

const COLUMNS = ['channel', 'text', 'date', 'media', 'type', 'settings'];

/** The bodies that the rows of a file describe. The service judges them. */
export function rowsOf(text: string, format: string): unknown[] {
  if (format === 'csv') return csvRows(text);
  if (format !== 'jsonl') throw new UsageError(`There is no format ${format}: csv or jsonl`);
  return text
    .split('\n')
    .map((line, n) => [line.trim(), n + 1] as const)
    .filter(([line]) => line !== '')
    .map(([line, n]) => parsed(line, `Line ${n}`));
}

function parsed(json: string, where: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new UsageError(`${where} is not JSON`);
  }
}

function csvRows(text: string): unknown[] {
  const [head = [], ...lines] = cellsOf(text.replace(/^\uFEFF/, ''));
  const unknown = head.find((name) => !COLUMNS.includes(name));
  if (unknown !== undefined) throw new UsageError(`There is no column ${unknown}: ${COLUMNS.join(', ')}`);
  return lines.map((cells, n) => {
    if (cells.length > head.length) throw new UsageError(`Row ${n + 1} has more cells than columns`);
    const of = Object.fromEntries(head.map((name, at) => [name, cells[at] ?? '']));
    const image = (of['media'] ?? '').split(/\s+/).filter((path) => path !== '');
    return {
      type: of['type'] || (of['date'] ? 'schedule' : 'draft'),
      ...(of['date'] && { date: of['date'] }),
      creationMethod: 'CLI',
      posts: [
        {
          integration: { id: of['channel'] ?? '' },
          value: [{ content: of['text'] ?? '', image: image.map((path) => ({ path })) }],
          settings: of['settings'] ? parsed(of['settings'], `settings of row ${n + 1}`) : {},
        },
      ],
    };
  });
}

/** Cells by RFC 4180: quoted ones may hold commas, line breaks, and quotes written twice. Empty lines count for nothing. */
function cellsOf(text: string): string[][] {
  const rows: string[][] = [[]];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y;
  while (cell.lastIndex < text.length || rows.at(-1)!.length > 0) {
    const at = cell.lastIndex;
    const match = cell.exec(text);
    if (!match) throw new UsageError(`The CSV cannot be read at “${text.slice(at, at + 20)}”`);
    rows.at(-1)!.push(match[1]?.replaceAll('""', '"') ?? match[2]!);
    if (match[3] !== ',') rows.push([]);
  }
  return rows.filter((cells) => cells.some((one) => one !== ''));
}
