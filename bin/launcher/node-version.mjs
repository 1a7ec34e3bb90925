// Every command imports this module first, because later modules use features that an older Node does not have.
const MINIMUM = [20, 19];

/** The message for a Node that is too old, or null. */
export function problemWithNode(version) {
  const [major, minor] = version.split('.').map(Number);
  const isEnough = major > MINIMUM[0] || (major === MINIMUM[0] && minor >= MINIMUM[1]);
  return isEnough ? null : `Pacekeeper needs Node ${MINIMUM.join('.')} or newer; this is Node ${version}.`;
}

const problem = problemWithNode(process.versions.node);
if (problem) {
  console.error(problem);
  process.exit(1);
}
