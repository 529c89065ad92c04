import type { ReactNode } from 'react';

export type DialogProps = {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly title: string;
  /** `sm` to `xl`, or a width. */
  readonly size?: string;
  /** True: only its own controls close it, not Escape, a click next to it or a close button. */
  readonly locked?: boolean;
  /** True: it lies over every other dialog, also one that opened after it was first shown. */
  readonly onTop?: boolean;
  readonly children: ReactNode;
};
