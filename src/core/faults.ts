/**
 * A place where the program is composed and where a proof can replace a part by a faulty one, to show that the proof
 * finds the fault. It costs one call while the program starts, and nothing afterwards.
 */
export type FaultPoint<T> = {
  /** Returns the part itself; with a fault, what the fault makes of it. */
  pass(part: T): T;
  /**
   * Puts in a fault for all parts that pass from now on. Throws in a process that was started without `--import`: faults
   * are modules that are loaded before the program, so that it cannot put in any itself.
   */
  put(fault: (part: T) => T): void;
};

/** Creates a fault point without a fault. */
export function faultPoint<T>(): FaultPoint<T> {
  let change = (part: T): T => part;
  return {
    pass: (part) => change(part),
    put(fault) {
      if (!process.execArgv.includes('--import')) throw new Error('only a module loaded with --import puts in a fault');
      change = fault;
    },
  };
}
