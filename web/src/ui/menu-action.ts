import type { ReactNode } from 'react';

export type MenuAction = {
  readonly label: string;
  readonly icon?: ReactNode;
  readonly onClick: () => void;
  /** Reason why the action is not available (`useDisabledReason`); it is then disabled and shows the reason. */
  readonly reason?: string | undefined;
  readonly danger?: boolean;
  /** True if a divider precedes the item. */
  readonly apart?: boolean;
};
