import { useNavigate } from '@tanstack/react-router';
import { Copy, Eye, Pencil, Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { ActionsMenu } from '../../ui/actions/actions-menu.tsx';
import { useDisabledReason } from '../../ui/actions/guarded-button.tsx';
import { type Campaign, isDeletable, NEED } from '../campaign.ts';
import { useDuplicate } from '../use-duplicate.ts';

type RowMenuProps = { readonly campaign: Campaign; readonly onDelete: () => void };

/** The menu of actions for one campaign in the list. */
export function RowMenu({ campaign, onDelete }: RowMenuProps) {
  const { t } = useTranslation('campaigns');
  const navigate = useNavigate();
  const duplicate = useDuplicate();
  const reason = useDisabledReason(NEED);
  const { id, name } = campaign;
  const begun = isDeletable(campaign) ? undefined : t('delete.begun');
  const edit = {
    label: t('menu.edit'),
    icon: <Pencil size={16} />,
    reason,
    onClick: () => void navigate({ to: '/campaigns/editor', search: { id } }),
  };
  return (
    <ActionsMenu
      label={t('menu.label', { name })}
      actions={[
        {
          label: t('menu.open'),
          icon: <Eye size={16} />,
          onClick: () => void navigate({ to: `/campaigns/${id}` }),
        },
        ...(isDeletable(campaign) ? [edit] : []),
        { label: t('menu.duplicate'), icon: <Copy size={16} />, reason, onClick: () => duplicate.run(campaign) },
        {
          label: t('menu.delete'),
          icon: <Trash2 size={16} />,
          danger: true,
          apart: true,
          reason: reason ?? begun,
          onClick: onDelete,
        },
      ]}
    />
  );
}
