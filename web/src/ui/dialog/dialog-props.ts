import type { ReactNode } from 'react';

export type DialogProps = {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly title: string;
  /** `sm` to `xl`, or a width. */
  readonly size?: string;
  readonly children: ReactNode;
};
