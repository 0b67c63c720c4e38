import type { Config } from '../../platform/config/index.ts';
import { escapeHtml } from './escaping.ts';

/** What a mail is made of. Its texts are plain: `say` has been over what people gave. */
export type MailPart = string | { button: string; url: string } | { quote: readonly string[] };
export interface MailBody {
  subject: string;
  parts: readonly MailPart[];
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
}

const BUTTON =
  'display:inline-block;padding:12px 20px;border-radius:6px;' +
  'background:#2a52be;color:#ffffff;font-weight:600;text-decoration:none';
const BODY =
  'margin:0 auto;max-width:560px;padding:24px 16px;' +
  "font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif";
const QUOTE = 'margin:16px 0;padding:0 0 0 12px;border-left:3px solid #8a8a8a';
const FOOTER = 'margin-top:32px;font-size:13px;opacity:.75';

/** An address of a page as it may stand in a mail; throws for any other scheme. */
function link(url: string): string {
  const { protocol, href } = new URL(url);
  if (protocol !== 'https:' && protocol !== 'http:') throw new Error(`A mail links to pages only, not to ${protocol}`);
  return href;
}

function textOf(part: MailPart): string {
  if (typeof part === 'string') return part;
  return 'quote' in part ? part.quote.map((line) => `> ${line}`).join('\n') : `${part.button}:\n${link(part.url)}`;
}

function htmlOf(part: MailPart): string {
  if (typeof part === 'string') return `<p>${escapeHtml(part)}</p>`;
  if ('quote' in part) return `<blockquote style="${QUOTE}">${part.quote.map(escapeHtml).join('<br>')}</blockquote>`;
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
export const layOut = ({ subject, parts }: MailBody, site: Site): Rendered => ({
  subject,
  text: [...parts.map(textOf), `-- \n${site.name}\n${link(site.url)}`].join('\n\n') + '\n',
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
<p style="${FOOTER}"><a href="${escapeHtml(link(site.url))}" style="color:inherit">${escapeHtml(site.name)}</a></p>
</body>
</html>
`,
});
