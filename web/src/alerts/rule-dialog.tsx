import { NumberInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { FormDialog } from '../ui/form-dialog.tsx';
import { KEYS, type Rule, setRule } from './target-dialog.tsx';

type Values = { readonly forSeconds: number | string; readonly threshold: number | string };

/** Dialog that changes the threshold and the duration from which a condition is an alert. */
export function RuleDialog({ rule: { kind, enabled, unit, ...rule } }: { readonly rule: Rule }) {
  const { t } = useTranslation('alerts');
  return (
    <FormDialog<Values, unknown>
      title={t(`rule.kind.${kind}`)}
      size="lg"
      values={{ forSeconds: rule.forSeconds, threshold: rule.threshold ?? '' }}
      validate={{
        forSeconds: (value) => (value === '' ? t('required') : null),
        threshold: (value) => (unit !== null && value === '' ? t('required') : null),
      }}
      run={({ forSeconds, threshold }) =>
        setRule({ kind, enabled, forSeconds: Number(forSeconds), threshold: unit === null ? null : Number(threshold) })
      }
      refresh={KEYS}
      done={t('rule.edit.done')}
      action={t('ui:save')}
    >
      {(form) => (
        <>
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
        </>
      )}
    </FormDialog>
  );
}
