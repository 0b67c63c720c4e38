import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { arch } from 'node:process';
import { promisify } from 'node:util';
import { freePorts } from '../wire/ports.ts';
import { debianPackages } from './debian.ts';
import { peerEnv } from './peer-install.ts';
import { type Found, type Peer, startProcess, tcpAnswers } from './peer-process.ts';

const run = promisify(execFile);
const PACKAGES = ['swift-proxy', 'swift-account', 'swift-container', 'swift-object', 'memcached'];
const LIBRARIES: Readonly<Record<string, string>> = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' };
/** Its usual folder of settings is /etc/swift. */
const LAUNCH = `import sys
from swift.common import utils
utils.set_swift_dir(sys.argv[1])
from swift.common.wsgi import run_wsgi
sys.exit(run_wsgi(sys.argv[2], sys.argv[3]))`;

/** OpenStack Swift with its S3 API, which verifies signatures: one proxy, one device. */
export async function swiftPeer(): Promise<Found> {
  const root = await debianPackages('swift', PACKAGES);
  return { start: () => start(root) };
}

async function start(root: string): Promise<Peer> {
  const folder = await mkdtemp(`${tmpdir()}/rookery-swift-`);
  const [memory, account, container, object, proxy] = await freePorts(5);
  const env = {
    ...peerEnv(),
    PYTHONPATH: `${root}/usr/lib/python3/dist-packages`,
    LD_LIBRARY_PATH: `${root}/usr/lib/${LIBRARIES[arch]}`,
    PYTHONWARNINGS: 'ignore',
  };
  await mkdir(`${folder}/devices/d1`, { recursive: true });
  await writeFile(
    `${folder}/swift.conf`,
    '[swift-hash]\nswift_hash_path_suffix = suffix\nswift_hash_path_prefix = prefix\n[storage-policy:0]\nname = one\ndefault = yes\n',
  );
  for (const [ring, port] of Object.entries({ account, container, object })) {
    const build = (...words: string[]) =>
      run('/usr/bin/python3', [`${root}/usr/bin/swift-ring-builder`, `${folder}/${ring}.builder`, ...words], {
        env,
        cwd: folder,
      });
    await build('create', '4', '1', '1');
    await build('add', `r1z1-127.0.0.1:${port}/d1`, '1');
    await build('rebalance');
    await writeFile(`${folder}/${ring}.conf`, serverConf(folder, ring, port!));
  }
  await writeFile(`${folder}/proxy.conf`, proxyConf(folder, proxy!, memory!));

  const open: Peer[] = [];
  const stop = async () => {
    for (const one of open.toReversed()) await one.stop();
    await rm(folder, { recursive: true, force: true });
  };
  const launch = async (name: string, command: string, args: string[], port: number) => {
    const url = `http://127.0.0.1:${port}`;
    open.push(
      await startProcess(`swift-${name}`, command, args, {
        cwd: folder,
        env,
        probe: async () => ({ url, answered: await tcpAnswers(port) }),
      }),
    );
  };
  try {
    await launch(
      'memcached',
      `${root}/usr/bin/memcached`,
      ['-l', '127.0.0.1', '-p', String(memory), '-U', '0', '-u', userInfo().username],
      memory!,
    );
    for (const [name, port] of Object.entries({ account, container, object, proxy }))
      await launch(name, '/usr/bin/python3', ['-c', LAUNCH, folder, `${folder}/${name}.conf`, `${name}-server`], port!);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: `http://127.0.0.1:${proxy}`,
    env: { accessKeyId: 'test:tester', secretAccessKey: 'testing', region: 'us-east-1' },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

// Its own patience is a second or less: on a machine that does much else an object would then be there and not yet
// listed.
const common = (folder: string, port: number) => `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
workers = 0
user = ${userInfo().username}
swift_dir = ${folder}
devices = ${folder}/devices
mount_check = false
conn_timeout = 20
node_timeout = 60
container_update_timeout = 60
log_level = WARNING
log_address = ${folder}/no-log
`;
const serverConf = (folder: string, ring: string, port: number) => `${common(folder, port)}
[pipeline:main]
pipeline = ${ring}-server
[app:${ring}-server]
use = egg:swift#${ring}
`;
const proxyConf = (folder: string, port: number, memory: number) => `${common(folder, port)}
[pipeline:main]
pipeline = catch_errors gatekeeper healthcheck cache listing_formats s3api tempauth bulk slo dlo versioned_writes proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
[filter:s3api]
use = egg:swift#s3api
s3_acl = false
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:${memory}
${['catch_errors', 'gatekeeper', 'healthcheck', 'listing_formats', 'bulk', 'slo', 'dlo', 'versioned_writes'].map((name) => `[filter:${name}]\nuse = egg:swift#${name}\n`).join('')}`;
