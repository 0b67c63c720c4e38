import type { ConfigIssue } from './env.ts';
import type { Setting } from './kinds.ts';
import { CHAPTERS } from './settings.ts';

/** All issues as one text for a terminal, the fatal ones first, each with its remedy. No secret is in it. */
export function describeIssues(issues: readonly ConfigIssue[], exits: boolean): string {
  const sorted = issues.toSorted((a, b) => Number(b.level === 'fatal') - Number(a.level === 'fatal'));
  const lines = sorted.flatMap(({ setting, level, message, remedy }) => [
    `  ${level === 'fatal' ? 'ERROR  ' : 'warning'}  ${setting} ${message}.`,
    `           ${remedy}`,
  ]);
  const end = exits
    ? 'The service does not start like this.'
    : issues.some(({ level }) => level === 'fatal')
      ? 'Outside production the service starts all the same, without what the errors name.'
      : '';
  return [
    `Configuration: ${issues.length} ${issues.length === 1 ? 'issue' : 'issues'}`,
    ...lines,
    ...(end ? [end] : []),
  ].join('\n');
}

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
function usual({ fallback, otherwise, type }: Setting<unknown>): string {
  if (otherwise !== undefined) return otherwise;
  if (fallback === undefined || fallback === null) return 'unset';
  if (typeof fallback !== 'string') return JSON.stringify(fallback);
  return type === 'text' ? `\`${fallback}\`` : fallback;
}

/** Names the work that a setting waits for. `registered`: the networks that are there. */
const waitsFor = ({ later, networks = [] }: Setting<unknown>, registered: ReadonlySet<string>): string | undefined =>
  later ??
  (networks.length > 0 && !networks.some((id) => registered.has(id))
    ? `the provider ${networks.join(' or ')}`
    : undefined);

/** The reference of every setting as Markdown, for `gen`. */
export function settingsReference(registered: ReadonlySet<string>): string {
  const chapters = Object.entries(CHAPTERS).map(([title, settings]) => {
    const rows = Object.entries(settings as Record<string, Setting<unknown>>).map(([name, setting]) => {
      const later = waitsFor(setting, registered);
      return `| \`${name}\` | ${setting.type} | ${cell(usual(setting))} | ${cell(setting.meaning)}${later ? ` *Read now, used by later work: ${cell(later)}.*` : ''} |`;
    });
    return `## ${title}\n\n| Variable | Type | Default | Meaning |\n|---|---|---|---|\n${rows.join('\n')}\n`;
  });
  return `<!-- Generated from src/platform/config/settings.ts by \`node rookery.mjs gen\`. Do not edit. -->
# Settings

Environment variables; a file \`.env\` in the working folder adds those that are not set. An empty value counts as unset. All issues are
found and printed together at start, each with its remedy. A fatal one ends the process in production (unless \`NOT_SECURED\` is set) and,
with \`CONFIG_CHECK_STRICT\`, everywhere. \`NODE_EXTRA_CA_CERTS\` is Node's own: certificates of further authorities for outbound https.

${chapters.join('\n')}`;
}
