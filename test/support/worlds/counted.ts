/**
 * Statements as the client sent them, told apart: what a budget counts, and what heartbeats, sweeps and notes of use
 * that are gathered for a second do beside it.
 */
const BACKGROUND =
  /^\s*(--.*\n\s*)*(insert into actor_hosts|update actor_hosts|delete from actor_hosts|insert into lateness|delete from lateness|\/\* all orgs \*\/|with\s+lease_taken|with\s+used\s|insert into provider_health)/i;
const WRITES = /\b(insert\s+into|update\s+\w+|delete\s+from)\b/i;

export interface Counts {
  statements: number;
  commits: number;
  texts: string[];
}

/**
 * What was sent while `work` ran. A transaction counts as a commit when it wrote; `begin` and `commit` are no
 * statements.
 */
export async function counted(sent: string[], work: () => Promise<unknown>): Promise<Counts> {
  sent.length = 0;
  await work();
  const texts = sent.map((text) => text.trim()).filter((text) => !BACKGROUND.test(text));
  const statements = texts.filter(
    (text) => !/^(begin|commit|rollback|savepoint|select pg_(try_)?advisory)/i.test(text),
  );
  const transactions = texts.filter((text) => /^commit/i.test(text)).length;
  // Statements of a transaction cannot be told from their neighbours in the list: one write for each commit is inside.
  const inside = texts.reduce(
    ({ open, writes }, text) => {
      if (/^begin/i.test(text)) return { open: open + 1, writes };
      if (/^(commit|rollback)/i.test(text)) return { open: open - 1, writes };
      return { open, writes: writes + (open > 0 && WRITES.test(text) ? 1 : 0) };
    },
    { open: 0, writes: 0 },
  ).writes;
  const writes = statements.filter((text) => WRITES.test(text)).length;
  return { statements: statements.length, commits: transactions + Math.max(0, writes - inside), texts: statements };
}
