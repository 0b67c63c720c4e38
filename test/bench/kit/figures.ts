/** What one run of one side measured: numbers by name, with the unit at the end of the name. */
export type Figures = Readonly<Record<string, number>>;

/** The value below which the share `p` of the sorted values lies. */
export const percentile = (sorted: readonly number[], p: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? Number.NaN;
export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};
/** Middle, 99th hundredth and greatest of milliseconds. */
export function spread(name: string, values: readonly number[]): Figures {
  const sorted = values.toSorted((a, b) => a - b);
  return {
    [`${name}_p50_ms`]: percentile(sorted, 0.5),
    [`${name}_p99_ms`]: percentile(sorted, 0.99),
    [`${name}_max_ms`]: sorted.at(-1) ?? Number.NaN,
  };
}
/** Counts of what must never happen: of several runs the worst one is told. */
const NEVER: ReadonlySet<string> = new Set([
  'early',
  'doubled',
  'passed_at_cap',
  'over_admitted',
  'undeclared_calls',
  'missing_numbers',
]);
/** The median of each figure over several runs. */
export const middle = (runs: readonly Figures[]): Figures =>
  Object.fromEntries(
    [...new Set(runs.flatMap(Object.keys))].map((name) => {
      const values = runs.flatMap((run) => (run[name] === undefined ? [] : [run[name]]));
      return [name, rounded(NEVER.has(name) ? Math.max(...values) : median(values))];
    }),
  );
/** Three digits that matter. */
export const rounded = (value: number): number =>
  Number.isFinite(value) ? Number(value.toPrecision(value >= 1_000 ? Math.ceil(Math.log10(value)) : 3)) : value;
