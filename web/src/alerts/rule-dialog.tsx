import { NumberInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { Dialog, DialogForm } from '../ui/dialog.tsx';
import { KEYS, type Rule, setRule } from './target-dialog.tsx';

type RuleDialogProps = { readonly rule: Rule; readonly onClose: () => void };

/** Dialog that changes the threshold and the duration from which a condition is an alert. */
export function RuleDialog({ rule, onClose }: RuleDialogProps) {
  const { t } = useTranslation('alerts');
  return (
    <Dialog opened onClose={onClose} title={t(`rule.kind.${rule.kind}`)}>
      <RuleForm rule={rule} onClose={onClose} />
    </Dialog>
  );
}

function RuleForm({ rule, onClose }: RuleDialogProps) {
  const { t } = useTranslation('alerts');
  const { kind, enabled, unit } = rule;
  const form = useForm<{ forSeconds: number | string; threshold: number | string }>({
    initialValues: { forSeconds: rule.forSeconds, threshold: rule.threshold ?? '' },
    validate: {
      forSeconds: (value) => (value === '' ? t('required') : null),
      threshold: (value) => (unit !== null && value === '' ? t('required') : null),
    },
  });
  const save = useAction({
    run: ({ forSeconds, threshold }: typeof form.values) =>
      setRule({ kind, enabled, forSeconds: Number(forSeconds), threshold: unit === null ? null : Number(threshold) }),
    refresh: KEYS,
    done: t('rule.edit.done'),
    form,
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => save.run(values))}
      action={t('ui:save')}
      busy={save.busy}
      onClose={onClose}
    >
      {unit !== null && (
        <NumberInput
          label={t(`rule.unit.${unit}`)}
          description={t('rule.edit.thresholdHint')}
          min={0}
          hideControls
          data-autofocus
          {...form.getInputProps('threshold')}
        />
      )}
      <NumberInput
        label={t('rule.edit.forSeconds')}
        description={t('rule.edit.forHint')}
        min={0}
        max={86_400}
        allowDecimal={false}
        hideControls
        {...form.getInputProps('forSeconds')}
      />
    </DialogForm>
  );
}
