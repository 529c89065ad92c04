import { ActionIcon, Menu, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { Copy, Ellipsis, Eye, type LucideIcon, Pencil, Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useReason } from '../ui/may-button.tsx';
import { type Campaign, isDeletable, isOpen, NEED } from './campaign.ts';
import { useDuplicate } from './use-duplicate.ts';

type RowMenuProps = { readonly campaign: Campaign; readonly onDelete: () => void };

/** What can be done with one campaign of the list. What may not be done says why below its name. */
export function RowMenu({ campaign, onDelete }: RowMenuProps) {
  const { t } = useTranslation('campaigns');
  const navigate = useNavigate();
  const duplicate = useDuplicate();
  const reason = useReason(NEED);
  const { id, name } = campaign;
  const begun = isDeletable(campaign) ? undefined : t('delete.begun');
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={t('menu.label', { name })}>
          <Ellipsis size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown maw={260}>
        <Item icon={Eye} label={t('menu.open')} onClick={() => void navigate({ to: `/campaigns/${id}` })} />
        {isOpen(campaign) && (
          <Item
            icon={Pencil}
            label={t('menu.edit')}
            reason={reason}
            onClick={() => void navigate({ to: '/campaigns/editor', search: { id } })}
          />
        )}
        <Item icon={Copy} label={t('menu.duplicate')} reason={reason} onClick={() => duplicate.run(campaign)} />
        <Menu.Divider />
        <Item icon={Trash2} label={t('menu.delete')} color="red" reason={reason ?? begun} onClick={onDelete} />
      </Menu.Dropdown>
    </Menu>
  );
}

type ItemProps = {
  readonly icon: LucideIcon;
  readonly label: string;
  readonly color?: string;
  /** Why it cannot be used, shown below its name. */
  readonly reason?: string | undefined;
  readonly onClick: () => void;
};

function Item({ icon: Icon, label, color, reason, onClick }: ItemProps) {
  return (
    <Menu.Item leftSection={<Icon size={16} />} color={color} disabled={reason !== undefined} onClick={onClick}>
      {label}
      {reason !== undefined && (
        <Text size="xs" component="span" display="block">
          {reason}
        </Text>
      )}
    </Menu.Item>
  );
}
