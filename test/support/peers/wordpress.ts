import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { arch } from 'node:process';
import { promisify } from 'node:util';
import { freePorts } from '../wire/ports.ts';
import { debianPackages } from './debian.ts';
import { peerEnv } from './peer-install.ts';
import { type Found, type Peer, startProcess, tcpAnswers } from './peer-process.ts';

const run = promisify(execFile);
const PACKAGES = [
  'wordpress',
  'php8.2-cli',
  'php8.2-mysql',
  'php8.2-xml',
  'php8.2-gd',
  'php8.2-mbstring',
  'mariadb-server',
];
const EXTENSIONS = [
  'mysqlnd',
  'mysqli',
  'xml',
  'dom',
  'gd',
  'mbstring',
  'ctype',
  'fileinfo',
  'exif',
  'iconv',
  'tokenizer',
];
const LIBRARIES: Readonly<Record<string, string>> = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' };

/**
 * A real WordPress on a MariaDB of its own, from Debian's packages. `env.users`: application passwords of `ann`, an
 * administrator, and of `carl`, who may write but not publish. Comments are shown at once.
 */
export async function wordpressPeer(): Promise<Found> {
  const root = await debianPackages('wordpress', PACKAGES);
  return { start: () => start(root) };
}

async function start(root: string): Promise<Peer> {
  await using begun = new AsyncDisposableStack();
  const folder = await mkdtemp(`${tmpdir()}/rookery-wordpress-`);
  begun.defer(() => rm(folder, { recursive: true, force: true }));
  const env = { ...peerEnv(), LD_LIBRARY_PATH: `${root}/usr/lib/${LIBRARIES[arch]}` };
  const [database, port] = await freePorts(2);
  const url = `http://127.0.0.1:${port}`;
  const site = `${folder}/site`;
  // links in it lead to files beside it, and some to files of packages that only pages need
  await cp(`${root}/usr/share/wordpress`, site, {
    recursive: true,
    dereference: true,
    filter: (path) => existsSync(path),
  });
  await mkdir(`${site}/wp-content/uploads`, { recursive: true });
  await writeFile(`${site}/wp-config.php`, config(url, database!));
  await writeFile(`${folder}/install.php`, install(site, database!));
  await mkdir(`${folder}/data`);

  begun.use(
    await startProcess('wordpress-mariadb', ...mariadb(root, folder, database!), {
      cwd: folder,
      env,
      probe: async () => ({ url: '', answered: await tcpAnswers(database!) }),
    }),
  );
  const extensions = EXTENSIONS.flatMap((name) => ['-d', `extension=${name}`]);
  const php = [
    '-n',
    '-d',
    `extension_dir=${root}/usr/lib/php/20220829`,
    ...extensions,
    '-d',
    'upload_max_filesize=32M',
    '-d',
    'post_max_size=33M',
  ];
  const { stdout } = await run(`${root}/usr/bin/php8.2`, [...php, `${folder}/install.php`], { env, cwd: folder });
  const users = JSON.parse(stdout.slice(stdout.lastIndexOf('\n{') + 1)) as Record<string, string>;
  const peer = begun.use(
    await startProcess('wordpress', `${root}/usr/bin/php8.2`, [...php, '-S', `127.0.0.1:${port}`, '-t', site], {
      cwd: folder,
      env,
      probe: async () => ({ url, users, answered: await tcpAnswers(port!) }),
    }),
  );
  const all = begun.move();
  const stop = () => all.disposeAsync();
  return { ...peer, stop, [Symbol.asyncDispose]: stop };
}

/** Without tables of privileges, so that an empty folder is enough: whoever reaches it on loopback may do all. */
function mariadb(root: string, folder: string, port: number): [string, string[]] {
  const unpacked = `${root}/usr/sbin/mariadbd`;
  const isUnpacked = existsSync(unpacked); // a package that the machine has is not unpacked again
  return [
    isUnpacked ? unpacked : '/usr/sbin/mariadbd',
    [
      '--no-defaults',
      ...(isUnpacked ? [`--basedir=${root}/usr`] : []),
      `--user=${userInfo().username}`,
      `--datadir=${folder}/data`,
      `--socket=${folder}/db.sock`,
      `--pid-file=${folder}/db.pid`,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      '--skip-grant-tables',
      '--innodb-buffer-pool-size=32M',
      '--innodb-flush-log-at-trx-commit=0',
    ],
  ];
}

const config = (url: string, database: number) => `<?php
define('DB_NAME', 'wordpress');
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DB_HOST', '127.0.0.1:${database}');
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
define('WP_HOME', '${url}');
define('WP_SITEURL', '${url}');
define('WP_ENVIRONMENT_TYPE', 'local'); // application passwords without https
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('DISABLE_WP_CRON', true);
foreach (['AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY', 'AUTH_SALT', 'SECURE_AUTH_SALT', 'LOGGED_IN_SALT', 'NONCE_SALT'] as $name) define($name, "only a test: $name");
$table_prefix = 'wp_';
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
`;

const install = (site: string, database: number) => `<?php
$_SERVER += ['HTTP_HOST' => '127.0.0.1', 'SERVER_PROTOCOL' => 'HTTP/1.1', 'REQUEST_METHOD' => 'GET', 'REMOTE_ADDR' => '127.0.0.1'];
function wp_mail() { return true; }
define('WP_INSTALLING', true);
(new mysqli('127.0.0.1', 'root', '', '', ${database}))->query('create database wordpress character set utf8mb4');
require '${site}/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';
$ann = wp_install('Bakery', 'ann', 'ann@example.test', true, '', wp_slash('the login'))['user_id'];
$carl = wp_insert_user(['user_login' => 'carl', 'user_pass' => 'the login', 'user_email' => 'carl@example.test', 'role' => 'contributor']);
update_option('permalink_structure', '/%year%/%monthnum%/%postname%/');
update_option('comment_previously_approved', '0');
flush_rewrite_rules();
foreach (['ann' => $ann, 'carl' => $carl] as $name => $id) $said[$name] = WP_Application_Passwords::create_new_application_password($id, ['name' => 'Rookery'])[0];
echo "\\n" . json_encode($said);
`;
