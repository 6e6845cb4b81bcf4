/** `team=a, region=eu` → labels; a part without a name is an error. */
export function readLabels(text: string): { [name: string]: string } | null {
  const labels: { [name: string]: string } = {};
  for (const part of text
    .split(',')
    .map((one) => one.trim())
    .filter(Boolean)) {
    const found = /^([^=:]+)[=:](.*)$/.exec(part);
    if (!found?.[1]) return null;
    labels[found[1].trim()] = (found[2] ?? '').trim();
  }
  return labels;
}
