// Imported first by every command: the modules after it may use what an older Node does not have.
const MINIMUM = [20, 19];

/** One sentence about a Node that is too old, or null. */
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
