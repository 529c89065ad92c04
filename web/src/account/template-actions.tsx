import { Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { ConfirmDialog } from '../ui/dialog/confirm-dialog.tsx';
import { GuardedIcon } from '../ui/actions/guarded-button.tsx';
import { useLast } from '../ui/use-last.ts';
import { deleteTemplate, type Template } from './template.ts';

type TemplateActionsProps = { readonly template: Template; readonly onDelete: (template: Template) => void };

/** The actions for one template. Templates shared by all accounts can be changed by the operator only. */
export function TemplateActions({ template, onDelete }: TemplateActionsProps) {
  const { t } = useTranslation('account');
  const { name, channel, common } = template;
  return (
    <GuardedIcon
      need={{ scope: channel }}
      reason={common && t('template.notYours')}
      label={t('template.delete', { name })}
      onClick={() => onDelete(template)}
    >
      <Trash2 size={16} />
    </GuardedIcon>
  );
}

type TemplateDeleteProps = { readonly template: Template | null; readonly onClose: () => void };

/** Confirms the deletion of a template; null closes the dialog. */
export function TemplateDelete({ template, onClose }: TemplateDeleteProps) {
  const { t } = useTranslation('account');
  const shown = useLast(template);
  const name = shown?.name ?? '';
  const remove = useAction({
    run: deleteTemplate,
    refresh: [['templates']],
    done: t('template.deleted', { name }),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={template !== null}
      onClose={onClose}
      title={t('template.deleteTitle', { name })}
      action={t('template.deleteSubmit')}
      onConfirm={() => template && remove.run(template)}
      busy={remove.busy}
    >
      {t(`template.deleteText.${shown?.channel ?? 'RCS'}`)}
    </ConfirmDialog>
  );
}
