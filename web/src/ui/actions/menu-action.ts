import type { ReactNode } from 'react';

export type MenuAction = {
  readonly label: string;
  readonly icon?: ReactNode;
  readonly onClick: () => void;
  /** Why the action is not available (`useDisabledReason`); it is then disabled and shows the reason. */
  readonly reason?: string | undefined;
  readonly danger?: boolean;
  /** Whether a divider precedes the item. */
  readonly apart?: boolean;
};
