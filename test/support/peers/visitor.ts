/**
 * Somebody at a login provider: keeps its cookies, follows its pages, fills in what they ask and presses the button.
 */
export async function consent(
  url: string,
  { as, until }: { as: string; until: (url: string) => boolean },
): Promise<URL> {
  const cookies = new Map<string, string>();
  let next: { url: string; form?: URLSearchParams } = { url };
  for (let steps = 0; steps < 20; steps += 1) {
    const response = await fetch(next.url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(next.form && { method: 'POST', body: next.form }),
    });
    for (const line of response.headers.getSetCookie()) {
      const pair = line.split(';')[0]!;
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    const page = await response.text();
    const location = response.headers.get('location');
    if (location !== null) {
      const to = new URL(location, next.url).href;
      if (until(to)) return new URL(to);
      next = { url: to };
    } else next = fillIn(page, next.url, as);
  }
  throw new Error(`The provider never came back from ${url}`);
}

const attribute = (tag: string, name: string) =>
  new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1]?.replaceAll('&amp;', '&');

/** The first form of a page that names the person, else the first one. */
function fillIn(page: string, base: string, as: string): { url: string; form: URLSearchParams } {
  const forms = [...page.matchAll(/<form[\s\S]*?<\/form>/g)].map(([text]) => text);
  const chosen = forms.find((text) => text.includes(`value="${as}"`)) ?? forms[0];
  if (!chosen) throw new Error(`No form at ${base}: ${page.slice(0, 300)}`);
  const form = new URLSearchParams();
  for (const [tag] of chosen.matchAll(/<input[^>]*>/g)) {
    const name = attribute(tag, 'name');
    if (name !== undefined) form.set(name, attribute(tag, 'value') ?? as);
  }
  return { url: new URL(attribute(/<form[^>]*>/.exec(chosen)![0], 'action') ?? '', base).href, form };
}
