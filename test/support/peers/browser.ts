import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { debianPackages } from './debian.ts';
import { type Found, startProcess } from './peers.ts';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const WAIT_MS = 30_000;

interface Browser {
  path: string;
  env: NodeJS.ProcessEnv;
}

/**
 * Chromium as `CHROMIUM` names it, else that of this machine, else Debian's shell of it, unpacked into a cache folder.
 */
async function locate(): Promise<Browser> {
  const path = [process.env['CHROMIUM'], ...PLACES].find((place) => place !== undefined && existsSync(place));
  if (path) return { path, env: {} };
  const root = await debianPackages('chromium', ['chromium-headless-shell', 'fonts-dejavu-core']);
  const folder = `${root}/usr/lib/${(await readdir(`${root}/usr/lib`)).find((name) => name.endsWith('-linux-gnu'))}`;
  const fonts = `${root}/etc/fonts`;
  return {
    path: `${root}/usr/lib/chromium/chromium-headless-shell`,
    env: { LD_LIBRARY_PATH: `${folder}:${folder}/pulseaudio`, ...(existsSync(fonts) && { FONTCONFIG_PATH: fonts }) },
  };
}

/** A browser for `describePeer`. Its address is that of its own protocol. */
export async function findBrowser(): Promise<Found> {
  const { path, env } = await locate();
  return {
    async start() {
      const profile = await mkdtemp(join(tmpdir(), 'rookery-browser-'));
      const args = [
        '--headless=new',
        '--no-sandbox',
        '--disable-gpu',
        '--disable-dev-shm-usage',
        '--no-first-run',
        '--disable-background-networking',
        '--remote-debugging-port=0',
        `--user-data-dir=${profile}`,
        'about:blank',
      ];
      const probe = async () => {
        const [port, endpoint] = (await readFile(join(profile, 'DevToolsActivePort'), 'utf8')).split('\n');
        return { url: `ws://127.0.0.1:${port}${endpoint}` };
      };
      return startProcess('chromium', path, args, { cwd: profile, env, probe });
    },
  };
}

interface Message {
  id?: number;
  method?: string;
  params?: any; // oxlint-disable-line typescript/no-explicit-any -- as the browser writes it
  result?: any; // oxlint-disable-line typescript/no-explicit-any -- as the browser writes it
  error?: { message: string };
}

const KEYS: Record<string, { key: string; code: string; windowsVirtualKeyCode: number; text?: string }> = {
  Tab: { key: 'Tab', code: 'Tab', windowsVirtualKeyCode: 9 },
  Enter: { key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13, text: '\r' },
};

/** One tab with cookies of its own. */
export async function openTab(browser: string) {
  const socket = new WebSocket(browser);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true });
    socket.addEventListener('error', reject, { once: true });
  });
  const waiting = new Map<number, { resolve(result: Message['result']): void; reject(error: Error): void }>();
  /** What the browser complained about: scripts that failed, policies that were broken. */
  const complaints: string[] = [];
  let asked = 0;
  socket.addEventListener('message', ({ data }) => {
    const { id, method, params, result, error }: Message = JSON.parse(String(data));
    if (method === 'Runtime.exceptionThrown')
      complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === 'Log.entryAdded' && params.entry.source === 'security') complaints.push(params.entry.text);
    const asker = id === undefined ? undefined : waiting.get(id);
    if (id === undefined || !asker) return;
    waiting.delete(id);
    if (error) asker.reject(new Error(error.message));
    else asker.resolve(result);
  });
  const send = (method: string, params: object = {}, sessionId?: string) =>
    new Promise<Message['result']>((resolve, reject) => {
      asked += 1;
      waiting.set(asked, { resolve, reject });
      socket.send(JSON.stringify({ id: asked, method, params, ...(sessionId && { sessionId }) }));
    });

  const { browserContextId } = await send('Target.createBrowserContext');
  const { targetId } = await send('Target.createTarget', { url: 'about:blank', browserContextId });
  const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
  const call = (method: string, params?: object) => send(method, params, sessionId);
  await Promise.all(['Page.enable', 'Runtime.enable', 'Log.enable'].map((method) => call(method)));

  async function evaluate<T>(expression: string): Promise<T> {
    const { result, exceptionDetails } = await call('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value as T;
  }
  return {
    complaints,
    evaluate,
    goto: (url: string): Promise<void> => call('Page.navigate', { url }),
    /** Waits for an expression to be true, over navigations too. */
    async until(expression: string): Promise<void> {
      const end = performance.now() + WAIT_MS;
      while (!(await evaluate<boolean>(`Boolean(${expression})`).catch(() => false))) {
        if (performance.now() > end)
          throw new Error(`Never true: ${expression}\n${await evaluate<string>('document.body.innerText')}`);
        await sleep(50);
      }
    },
    /** Presses keys as a person does: `Tab`, `Enter`, or the letters of a text. */
    async press(...keys: string[]): Promise<void> {
      for (const key of keys) {
        const known = KEYS[key];
        if (!known) await call('Input.insertText', { text: key });
        else for (const type of ['keyDown', 'keyUp']) await call('Input.dispatchKeyEvent', { type, ...known });
      }
    },
    setCookies: (url: string, cookies: Iterable<[string, string]>): Promise<void> =>
      call('Network.setCookies', { cookies: [...cookies].map(([name, value]) => ({ name, value, url })) }),
    async [Symbol.asyncDispose]() {
      await send('Target.disposeBrowserContext', { browserContextId });
      socket.close();
    },
  };
}
export type Tab = Awaited<ReturnType<typeof openTab>>;
