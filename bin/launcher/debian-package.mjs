// Gets programs of other Debian releases for tests. Their packages are unpacked into .cache/ and not installed.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { cacheFolder, whileHolding } from './files.mjs';
import { step } from './terminal.mjs';

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
const ON_EVERY_DEBIAN = 'dpkg';

/** Returns the path of a file of a package in that release. Throws with the reason if apt cannot get the package. */
export async function unpackedFile({ suite, debianPackage, file }, children) {
  const folder = path.join(cacheFolder, 'debian', suite, debianPackage);
  const unpacked = path.join(folder, file);
  await whileHolding(path.join(cacheFolder, `debian-${suite}.lock`), async () => {
    if (existsSync(unpacked)) return;
    await step(`unpacking ${debianPackage} of Debian ${suite}`, () =>
      unpack(suite, debianPackage, folder, children),
    );
  });
  return unpacked;
}

async function unpack(suite, debianPackage, folder, children) {
  const draft = `${folder}.draft`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(path.join(draft, 'archives', 'partial'), { recursive: true });
  const lists = path.join(path.dirname(folder), 'lists');
  mkdirSync(path.join(lists, 'partial'), { recursive: true });
  const run = async (file, args) => {
    const { code, output } = await children.run(file, file, args, { cwd: draft });
    if (code !== 0) throw new Error(`${file} failed with:\n${output.trimEnd()}`);
    return output;
  };
  const mirror = mirrorIn(await run('apt-get', ['download', '--print-uris', ON_EVERY_DEBIAN]));
  const signed = existsSync(KEYRING) ? `[signed-by=${KEYRING}] ` : '';
  writeFileSync(path.join(draft, 'sources.list'), `deb ${signed}${mirror} ${suite} main\n`);
  // With folders of its own, apt needs no root, changes nothing on this machine, and does not prefer a version that is installed here.
  const own = {
    'Dir::Etc::sourcelist': path.join(draft, 'sources.list'),
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::State::lists': lists,
    'Dir::State::status': '/dev/null',
    'Dir::Cache': draft,
    'Dir::Cache::archives': path.join(draft, 'archives'),
    'Acquire::Languages': 'none',
    'APT::Sandbox::User': '',
  };
  const options = ['-q', ...Object.entries(own).flatMap(([name, value]) => ['-o', `${name}=${value}`])];
  await run('apt-get', [...options, 'update']);
  await run('apt-get', [...options, 'download', debianPackage]);
  const archive = readdirSync(draft).find((name) => name.endsWith('.deb'));
  rmSync(folder, { recursive: true, force: true });
  await run('dpkg-deb', ['-x', archive, 'root']);
  renameSync(path.join(draft, 'root'), folder);
  rmSync(draft, { recursive: true });
}

/** The configured mirror, from a line such as `'http://mirror/debian/pool/main/d/dpkg/…'`. */
function mirrorIn(output) {
  const [, mirror] = /'(\S+?)\/pool\/\S+'/.exec(output) ?? [];
  if (!mirror) throw new Error(`apt-get does not know ${ON_EVERY_DEBIAN}`);
  return mirror;
}
