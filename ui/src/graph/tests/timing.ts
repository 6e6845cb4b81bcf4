/**
 * Milliseconds of the processor, the least of several tries: what else runs on the machine is not counted, and what the engine does at
 * its own times (compiling, collecting) is not in every try. The first is not counted at all.
 */
export function cost(tries: number, act: () => void): number {
  act();
  let least = Number.POSITIVE_INFINITY;
  for (let at = 0; at < tries; at++) {
    const before = process.cpuUsage();
    act();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}
