import type { Config } from '../../platform/config/index.ts';
import { escapeHtml } from './escaping.ts';

/** What a mail is made of. Its texts are plain: `say` has been over what people gave. */
export type MailPart =
  | string
  | { button: string; url: string }
  | { heading: string }
  | { quote: readonly string[] }
  | { links: readonly Link[] };
/** A line of a list; what is quoted stands below it. */
interface Link {
  label: string;
  url: string | null;
  quote: readonly string[];
}
export interface MailBody {
  subject: string;
  parts: readonly MailPart[];
  /** The address that takes the reader off; absent in mails that nobody can refuse. */
  unsubscribe?: string;
}
/** The name of this service in its mails, and the address of its application. */
export interface Site {
  name: string;
  url: string;
}
export const siteOf = ({ email: { provider }, http }: Pick<Config, 'email' | 'http'>): Site => ({
  name: provider?.values['fromName'] || 'Rookery',
  url: http.frontendUrl,
});
export interface Rendered {
  subject: string;
  text: string;
  html: string;
  unsubscribe?: string;
}

const BUTTON =
  'display:inline-block;padding:12px 20px;border-radius:6px;' +
  'background:#2a52be;color:#ffffff;font-weight:600;text-decoration:none';
const BODY =
  'margin:0 auto;max-width:560px;padding:24px 16px;' +
  "font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif";
const QUOTE = 'margin:16px 0;padding:0 0 0 12px;border-left:3px solid #8a8a8a';
const HEADING = 'font-size:18px;margin:28px 0 8px';
const FOOTER = 'margin-top:32px;font-size:13px;opacity:.75';

/** An address of a page as it may stand in a mail; throws for any other scheme. */
function link(url: string): string {
  const { protocol, href } = new URL(url);
  if (protocol !== 'https:' && protocol !== 'http:') throw new Error(`A mail links to pages only, not to ${protocol}`);
  return href;
}

function textOf(part: MailPart): string {
  if (typeof part === 'string') return part;
  if ('heading' in part) return `${part.heading}\n${'-'.repeat(Math.min(part.heading.length, 60))}`;
  if ('links' in part)
    return part.links
      .flatMap(({ label, url, quote }) => [
        `- ${label}`,
        ...quote.map((line) => `  > ${line}`),
        ...(url === null ? [] : [`  ${link(url)}`]),
      ])
      .join('\n');
  return 'quote' in part ? part.quote.map((line) => `> ${line}`).join('\n') : `${part.button}:\n${link(part.url)}`;
}

const htmlOfQuote = (lines: readonly string[]): string =>
  `<blockquote style="${QUOTE}">${lines.map(escapeHtml).join('<br>')}</blockquote>`;
const htmlOfLink = ({ label, url, quote }: Link): string => {
  const title = url === null ? escapeHtml(label) : `<a href="${escapeHtml(link(url))}">${escapeHtml(label)}</a>`;
  return `<li>${title}${quote.length > 0 ? htmlOfQuote(quote) : ''}</li>`;
};

function htmlOf(part: MailPart): string {
  if (typeof part === 'string') return `<p>${escapeHtml(part)}</p>`;
  if ('heading' in part) return `<h2 style="${HEADING}">${escapeHtml(part.heading)}</h2>`;
  if ('links' in part) return `<ul>${part.links.map(htmlOfLink).join('')}</ul>`;
  if ('quote' in part) return htmlOfQuote(part.quote);
  const url = escapeHtml(link(part.url));
  return (
    `<p><a href="${url}" style="${BUTTON}">${escapeHtml(part.button)}</a></p>` +
    `<p style="font-size:13px">Or open this address: <br><a href="${url}">${url}</a></p>`
  );
}

/**
 * One layout for all mails. No colour of text or ground is set, so that each reader's own, light or dark, is used;
 * nothing is loaded from anywhere.
 */
export const layOut = ({ subject, parts, unsubscribe }: MailBody, site: Site): Rendered => ({
  subject,
  ...(unsubscribe !== undefined && { unsubscribe }),
  text:
    [
      ...parts.map(textOf),
      `-- \n${site.name}\n${link(site.url)}`,
      ...(unsubscribe === undefined ? [] : [`Get no more of these:\n${link(unsubscribe)}`]),
    ].join('\n\n') + '\n',
  html: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escapeHtml(subject)}</title>
</head>
<body style="${BODY}">
${parts.map(htmlOf).join('\n')}
<p style="${FOOTER}"><a href="${escapeHtml(link(site.url))}" style="color:inherit">${escapeHtml(site.name)}</a>${
    unsubscribe === undefined
      ? ''
      : ` · <a href="${escapeHtml(link(unsubscribe))}" style="color:inherit">Get no more of these</a>`
  }</p>
</body>
</html>
`,
});
