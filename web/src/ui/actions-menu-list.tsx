import { Menu, Text } from '@mantine/core';
import { Fragment } from 'react';
import type { MenuAction } from './lazy-props.ts';
import { type OpenerButton, useOpenWhenDrawn } from './parts.tsx';

type ActionsMenuListProps = { readonly button: OpenerButton; readonly actions: readonly MenuAction[] };

/** The list of `ActionsMenu`, loaded on demand. */
export function ActionsMenuList({ button, actions }: ActionsMenuListProps) {
  const { target, ...state } = useOpenWhenDrawn(button);
  return (
    <Menu {...state}>
      <Menu.Target>{target}</Menu.Target>
      <Menu.Dropdown maw={280}>
        {actions.map((action) => (
          <Fragment key={action.label}>
            {action.apart && <Menu.Divider />}
            <Item {...action} />
          </Fragment>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function Item({ label, icon, onClick, reason, danger }: MenuAction) {
  return (
    <Menu.Item leftSection={icon} disabled={reason !== undefined} onClick={onClick} {...(danger && { color: 'red' })}>
      {label}
      {reason !== undefined && (
        <Text size="xs" component="span" display="block">
          {reason}
        </Text>
      )}
    </Menu.Item>
  );
}
