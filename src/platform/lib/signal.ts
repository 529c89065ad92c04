/** A flag that one loop waits for and anyone raises. Raised while nobody waits, the next wait returns at once. */
export type Signal = {
  raise(): void;
  /** Resolves when raised, or after `timeoutMs`. Lowers the flag. */
  wait(timeoutMs: number): Promise<void>;
};

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
