/**
 * The colour of a token such as `--busy`, as a canvas understands it: a custom property keeps its light-dark() unresolved, but the browser
 * computes the colour of an element that nobody sees. The element stays in `host`.
 */
export function coloursOf(host: HTMLElement): (token: string) => string {
  const probe = document.createElement('span');
  probe.hidden = true;
  host.append(probe);
  return (token) => {
    probe.style.color = `var(${token})`;
    return getComputedStyle(probe).color;
  };
}
