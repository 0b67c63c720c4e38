export interface RowPage<Row> {
  items: readonly Row[];
  /** Asks for what follows; null: that is all. */
  nextCursor: string | null;
}

/** A page of rows of which one more than `limit` was asked for. */
export const pageOf = <Row extends { id: string }>(rows: readonly Row[], limit: number): RowPage<Row> => ({
  items: rows.slice(0, limit),
  nextCursor: rows.length > limit ? rows[limit - 1]!.id : null,
});
