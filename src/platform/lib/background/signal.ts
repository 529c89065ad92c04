/**
 * A flag that one loop waits for and anyone can raise. If it is raised while nothing waits, the next wait returns
 * immediately.
 */
export type Signal = {
  raise(): void;
  /** Resolves when the flag is raised, or after `timeoutMs`, and lowers it. */
  wait(timeoutMs: number): Promise<void>;
};

/** Creates a lowered signal. */
export function createSignal(): Signal {
  let raised = false;
  let release: (() => void) | null = null;
  return {
    raise() {
      raised = true;
      release?.();
    },
    async wait(timeoutMs) {
      if (!raised) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, timeoutMs);
          release = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        release = null;
      }
      raised = false;
    },
  };
}
