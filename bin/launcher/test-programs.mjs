// Finds programs that only some tests need, in versions that this machine may not have. Without a program, the tests that need it are skipped.
import { unpackedFile } from './debian-package.mjs';
import { find, isAtLeast, versionOf } from './programs.mjs';
import { messageOf, say } from './terminal.mjs';

const CLUSTER_NATS = { suite: 'trixie', debianPackage: 'nats-server', file: 'usr/sbin/nats-server' };
// A cluster of older servers loses acknowledged messages, so the product refuses it.
const CLUSTER_MINIMUM = '2.10.23';
// Each kubectl contains its own kustomize: 2.0.3 in Debian 12, 5.5.0 in trixie.
const KUBECTLS = [
  { suite: 'bookworm', debianPackage: 'kubernetes-client', file: 'usr/bin/kubectl' },
  { suite: 'trixie', debianPackage: 'kubectl', file: 'usr/bin/kubectl' },
];
const COMPOSE = {
  suite: 'trixie',
  debianPackage: 'docker-compose',
  file: 'usr/libexec/docker/cli-plugins/docker-compose',
};

/** The path of a NATS server that may run in a cluster: NATS_CLUSTER_PATH, an installed one, or an unpacked one. */
export async function clusterNats(children) {
  const suits = (version) => version !== null && isAtLeast(version, CLUSTER_MINIMUM);
  const present = [process.env.NATS_CLUSTER_PATH, find('nats', suits)?.file].find(
    (file) => file && suits(versionOf(file)),
  );
  return present ?? orSkipped(`NATS ${CLUSTER_MINIMUM} or newer`, CLUSTER_NATS, children);
}

/** The paths of all available kubectls: an installed one, and those of two Debian releases. */
export async function kubectls(children) {
  const files = [find('kubectl')?.file];
  for (const wanted of KUBECTLS)
    files.push(await orSkipped(`kubectl of Debian ${wanted.suite}`, wanted, children));
  return files.filter(Boolean);
}

/** The path of Docker Compose. It reads compose.yml without Docker. */
export const dockerCompose = (children) => orSkipped('Docker Compose', COMPOSE, children);

async function orSkipped(title, wanted, children) {
  try {
    return await unpackedFile(wanted, children);
  } catch (error) {
    say(`There is no ${title}, so its tests are skipped: ${messageOf(error)}`);
    return undefined;
  }
}
