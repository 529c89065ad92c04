import type { QueryKey } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext } from 'react';
import type { Need } from '../api/session.ts';

// What components of this folder share with their parts that are loaded on demand.

export type DialogProps = {
  readonly title: string;
  /** `sm` to `xl`, or a width. */
  readonly size?: string;
  /** True: only its own controls close it, not Escape, a click next to it or a close button. */
  readonly locked?: boolean;
  /** True: it lies over every other dialog, also one that opened after it was first shown. */
  readonly onTop?: boolean;
  readonly children: ReactNode;
};

type Answer = {
  /** The label of the button: "Revoke key". */
  readonly action: string;
  /** `danger` (default) for destructive actions, `normal` for others. */
  readonly kind?: 'danger' | 'normal';
  /** A text that must be typed first, for actions that are hard to undo. */
  readonly typed?: string;
};

export type ConfirmDialogProps = Answer & {
  readonly title: string;
  readonly children: ReactNode;
  readonly onConfirm: () => void;
  readonly busy?: boolean;
};

/** A question for `confirm`. */
export type Question<O = unknown> = Answer & {
  /** Names the item: "Revoke “Shop”?" */
  readonly title: string;
  /** Consequences of the action, and the note if it cannot be undone. */
  readonly text: ReactNode;
  /** The request; the dialog stays open if it fails. */
  readonly run: () => Promise<O>;
  /** The queries to refetch afterwards. */
  readonly refresh?: readonly QueryKey[];
  /** The success notification. */
  readonly done?: string | ((output: O) => string);
  /** Called once the request has succeeded and the dialog is closing. */
  readonly onDone?: () => void;
};

type HostedState = { readonly opened: boolean; readonly close: () => void };

export const HostedDialog = createContext<HostedState>({ opened: false, close: () => undefined });

/** The state of the surrounding dialog, for one that `openDialog` has opened. */
export const useDialog = (): HostedState => useContext(HostedDialog);

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

/** A column that can be shown and hidden. */
export type HideableColumn = { readonly id: string; readonly header: string; readonly hidden?: boolean };

export type ColumnChoiceProps = {
  readonly columns: readonly HideableColumn[];
  readonly hidden: ReadonlySet<string>;
  readonly setHidden: (ids: ReadonlySet<string>) => void;
};

export type SelectOption = { readonly value: string; readonly label: string };

/** Things of which there may be any number: found by a part of their names, and one by its ID. */
type SelectSource = {
  readonly key: string;
  readonly need: Need;
  readonly search: (text: string, signal: AbortSignal) => Promise<readonly SelectOption[]>;
  readonly find: (id: string, signal: AbortSignal) => Promise<SelectOption | undefined>;
};

export type SearchSelectProps = {
  readonly label?: string;
  readonly 'aria-label'?: string;
  readonly source: SelectSource;
  /** Options above those that are found, such as the one for none. */
  readonly first: readonly SelectOption[];
  /** The values of things that are not offered. */
  readonly without?: readonly string[];
  readonly value: string;
  readonly onChange: (value: string) => void;
};

export type ChartSeries = {
  /** The key of the series in `ChartRow.values`. */
  readonly name: string;
  readonly label: string;
  /** A colour of the palette, such as `green.6`. */
  readonly color: string;
};
export type ChartRow = { readonly label: string; readonly values: Readonly<Record<string, number>> };

export type ChartProps = {
  /** The accessible name of the chart. */
  readonly label: string;
  /** The header of the table's first column: "Hour". */
  readonly rowLabel: string;
  readonly rows: readonly ChartRow[];
  readonly series: readonly ChartSeries[];
  /** `line` (default) for time series, `bars` for comparisons, `stacked` bars for parts of a whole. */
  readonly kind?: 'line' | 'bars' | 'stacked';
  /** True if the last row is still growing; the line to it is dashed. */
  readonly isPartial?: boolean;
  readonly height?: number;
};
