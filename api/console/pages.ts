import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Config } from '../../src/platform/config/index.ts';
import type { Reply, Request } from '../http/route.ts';

interface Page {
  html: string;
  policy: string;
}

const text = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8');
const hashOf = (source: string) => `'sha256-${createHash('sha256').update(source).digest('base64')}'`;

/** The frame of the pages around `content`: title, message, and the form for who is not logged in. */
const layout = ({
  title,
  root,
  style,
  content,
  script,
}: Record<'title' | 'root' | 'style' | 'content' | 'script', string>) => `<!doctype html>
<html lang="en" data-root="${root}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${style}</style>
<main>
<h1>${title}</h1>
<noscript><p>This page needs JavaScript to send your decision.</p></noscript>
<p id="message" role="alert" hidden></p>
${content}
${text('login.html')}</main>
<script type="module">${script}</script>
</html>
`;

/**
 * One document with everything in it, so that a proxy has one path to let through; its policy runs this script and this
 * style and nothing else. `root` leads from the page to the root of the service.
 */
function page(name: 'consent' | 'device', title: string, root: string): Page {
  const style = text('console.css');
  const script = `${text('console.js')}\n${text(`${name}.js`)}`;
  const html = layout({ title, root, style, content: text(`${name}.html`), script });
  const policy = `default-src 'none'; script-src ${hashOf(script)}; style-src ${hashOf(style)}; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
  return { html, policy };
}

const consent = page('consent', 'An app asks for access', '../');
const device = page('device', 'Connect a device', './');

/** Answers a page with headers by which nobody frames it, caches it, or learns its address from it. */
function show(reply: Reply, { html, policy }: Page): string {
  reply.header('Content-Type', 'text/html; charset=utf-8');
  reply.header('Content-Security-Policy', policy);
  reply.header('X-Frame-Options', 'DENY');
  reply.header('X-Content-Type-Options', 'nosniff');
  reply.header('Referrer-Policy', 'no-referrer');
  reply.header('Cache-Control', 'no-store');
  return html;
}

/** A page without a script: one form, or the word that it is done. */
function plainPage(title: string, content: string): Page {
  const style = text('console.css');
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${style}</style>
<main>
<h1>${title}</h1>
${content}
</main>
</html>
`;
  const policy = `default-src 'none'; style-src ${hashOf(style)}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`;
  return { html, policy };
}
const unsubscribing = {
  asks: plainPage(
    'Get no more of these mails',
    '<p>Other mails still come. All of them can be chosen in your settings.</p>\n' +
      '<form method="post"><button>Unsubscribe</button></form>',
  ),
  done: plainPage('You are unsubscribed', '<p>These mails do not come any more. Your settings bring them back.</p>'),
};
/** The page behind the link of a mail, before and after its button. */
export const unsubscribePage = (reply: Reply, step: keyof typeof unsubscribing): string =>
  show(reply, unsubscribing[step]);

export const devicePage = (reply: Reply): string => show(reply, device);

/**
 * The consent page where it belongs, at `<FRONTEND_URL>/oauth/authorize`; undefined when the browser came by another
 * address, and has to be sent there.
 */
export function consentPage(
  { frontendUrl, backendUrl, trustProxyHops }: Config['http'],
  { headers, url }: Request,
  reply: Reply,
): string | undefined {
  const belowApi = url.startsWith('/api/');
  const frontend = new URL(frontendUrl);
  const host = (trustProxyHops > 0 && headers['x-forwarded-host']) || headers['host'];
  const isThere = frontend.origin === new URL(backendUrl).origin || host === frontend.host;
  return isThere && !belowApi ? show(reply, consent) : undefined;
}
