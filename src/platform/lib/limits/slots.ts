/** Limits the number of pieces of work that run at the same time. */
export type Slots = {
  /** Runs the work as soon as a slot is free, in the order of the calls. */
  run<T>(work: () => Promise<T>): Promise<T>;
};

/** Creates `size` slots. */
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
