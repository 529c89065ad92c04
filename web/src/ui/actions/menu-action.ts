import type { ReactNode } from 'react';

export type MenuAction = {
  readonly label: string;
  readonly icon?: ReactNode;
  readonly onClick: () => void;
  /** Why it cannot be chosen now (`useReason`): then it is there, disabled, and says so. */
  readonly reason?: string | undefined;
  readonly danger?: boolean;
  /** A line before it. */
  readonly apart?: boolean;
};
