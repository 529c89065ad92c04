/** A number of places that work takes one after the other. */
export type Slots = {
  /** Does the work when a place is free; in the order of asking. */
  run<T>(work: () => Promise<T>): Promise<T>;
};

export function createSlots(size: number): Slots {
  const waiting: (() => void)[] = [];
  let free = size;
  const leave = (): void => {
    const next = waiting.shift();
    if (next) next();
    else free++;
  };
  return {
    async run(work) {
      if (free > 0) free--;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
