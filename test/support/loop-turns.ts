/** Counts the turns of the event loop from now on. */
export function countTurns(): () => number {
  let turns = 0;
  const count = (): void => {
    turns++;
    setImmediate(count).unref();
  };
  setImmediate(count).unref();
  return () => turns;
}

/** Holds the event loop for as long as that. */
export function work(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
