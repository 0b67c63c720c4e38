import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { picture } from './samples.ts';

interface Said {
  status?: number;
  json?: unknown;
  body?: Uint8Array | string;
  headers?: Record<string, string>;
}

/** Unsplash, Pixabay and Vecteezy on one address, as far as the library asks them. */
export interface StockWorld extends AsyncDisposable {
  /** Base addresses by `domain/id`. */
  servers: Record<string, string>;
  /** Every request as `path?query`, without keys. */
  asked: string[];
  /** Keys that came with the requests. */
  keys: string[];
  /** In the place of the usual answer, for paths that begin so. */
  on: Map<string, () => Said | Promise<Said>>;
  forget(): void;
}

export async function startStockWorld(): Promise<StockWorld> {
  const bytes = await picture(64, 48);
  const asked: string[] = [];
  const keys: string[] = [];
  const on: StockWorld['on'] = new Map();
  let url = '';

  const photo = (id: string) => ({
    id,
    alt_description: `Lake ${id}`,
    urls: { small: id === 'plain' ? `http://images.example/${id}` : `https://images.example/${id}` },
    links: {
      html: `https://unsplash.com/photos/${id}`,
      download_location: `${url}/unsplash/photos/${id}/download?ixid=1`,
    },
    user: { name: 'Ann', links: { html: 'https://unsplash.com/@ann' } },
  });
  const hit = (id: string) => ({
    id,
    pageURL: null,
    tags: 'lake',
    user: 'Ann',
    webformatURL: null,
    largeImageURL: `${url}/bytes/${id}`,
  });
  const resource = (id: string) => ({
    id,
    content_type: 'photo',
    title: 'Lake',
    file_metadata: { available_file_types: [{ extension: 'png' }] },
  });

  function usual(path: string): Said {
    const [, source, ...rest] = path.split('/');
    const id = rest.at(-1) ?? '';
    if (source === 'bytes') return { body: bytes };
    if (path === '/unsplash/search/photos')
      return { json: { total_pages: 3, results: [photo('one'), photo('plain')] } };
    if (source === 'unsplash' && id === 'download') return { json: { url: `${url}/bytes/${rest[1]}` } };
    if (source === 'unsplash')
      return id === 'missing' ? { status: 404, json: { errors: ['Not found'] } } : { json: photo(id) };
    if (source === 'pixabay') return { json: { totalHits: 500, hits: [hit('7')] } };
    if (source === 'openverse') return { json: { page_count: 1, results: [] } };
    if (path === '/vecteezy/resources') return { json: { page: 1, last_page: 1, resources: [resource('4')] } };
    if (source === 'vecteezy' && id === 'download')
      return { json: { url: `${url}/bytes/4`, requires_attribution: false } };
    return { json: resource(id) };
  }

  const server = createServer((request, response) => {
    void (async () => {
      const { pathname, searchParams } = new URL(request.url!, 'http://stock');
      keys.push(searchParams.get('key') ?? request.headers.authorization ?? '');
      searchParams.delete('key');
      asked.push(`${pathname}${searchParams.size > 0 ? `?${searchParams}` : ''}`);
      const instead = [...on].find(([start]) => pathname.startsWith(start))?.[1];
      const { status = 200, json, body, headers = {} } = instead ? await instead() : usual(pathname);
      response.writeHead(status, {
        'content-type': json === undefined ? 'application/octet-stream' : 'application/json',
        ...headers,
      });
      response.end(body ?? JSON.stringify(json ?? {}));
    })();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    servers: Object.fromEntries(
      ['unsplash', 'pixabay', 'openverse', 'vecteezy'].map((id) => [`contentpack/${id}`, `${url}/${id}`]),
    ),
    asked,
    keys,
    on,
    forget() {
      asked.length = keys.length = 0;
      on.clear();
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
