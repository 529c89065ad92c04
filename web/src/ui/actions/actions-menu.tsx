import { ActionIcon } from '@mantine/core';
import { EllipsisVertical } from 'lucide-react';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import type { MenuAction } from './menu-action.ts';
import { OnDemand, type OpenerButton } from '../on-demand.tsx';

const LazyList = lazyPart(() =>
  import('./actions-menu-list.tsx').then(({ ActionsMenuList }) => ({ default: ActionsMenuList })),
);

type ActionsMenuProps = {
  /** The accessible name of the button: "Actions for Spring sale". */
  readonly label: string;
  readonly actions: readonly MenuAction[];
  /** A button to use instead of the three dots. */
  readonly button?: OpenerButton;
};

/** A menu of actions for one item, behind three dots. */
export function ActionsMenu({ label, actions, button }: ActionsMenuProps) {
  const dots = (
    <ActionIcon variant="subtle" color="gray" aria-label={label}>
      <EllipsisVertical size={16} />
    </ActionIcon>
  );
  const opener = button ?? dots;
  return (
    <OnDemand button={opener} kind="menu">
      <LazyList button={opener} actions={actions} />
    </OnDemand>
  );
}
