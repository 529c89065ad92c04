import { Stack } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { PlugZap } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../../api/action.ts';
import { Facts } from '../../../ui/values/facts.tsx';
import { GuardedButton } from '../../../ui/actions/guarded-button.tsx';
import { Section } from '../../../ui/section.tsx';
import { OPERATOR } from '../../shared/need.ts';
import { fieldsOf } from '../fields.ts';
import type { Kind } from '../kind.ts';
import { toConnectionBody } from '../connection-body.ts';
import { useFieldTexts, useSettingText } from '../setting-text.ts';
import type { LinkValues } from '../settings-fields.tsx';
import { testSettings, TestResult } from '../connection-test.tsx';

type StepProps = { readonly form: UseFormReturnType<LinkValues>; readonly kind: Kind };

/** The step that shows the settings and tests the connection without saving anything. */
export function TestStep({ form, kind }: StepProps) {
  const { t } = useTranslation('operator');
  const settingText = useSettingText();
  const fieldTexts = useFieldTexts();
  const { access, main } = fieldsOf(kind);
  const values = form.getValues();
  const trial = useAction({ run: () => testSettings(toConnectionBody(kind, form.getValues())), form, quiet: true });
  const shown = [...access, ...main].filter(
    ({ name }) => values.settings[name] !== '' && typeof values.settings[name] === 'string',
  );
  return (
    <Section
      title={t('wizard.testTitle', { name: values.name })}
      description={t('wizard.testHint')}
      actions={
        <GuardedButton
          need={OPERATOR}
          variant="default"
          leftSection={<PlugZap size={16} />}
          loading={trial.busy}
          onClick={() => trial.run()}
        >
          {t(trial.result ? 'trial.again' : 'trial.open')}
        </GuardedButton>
      }
    >
      <Stack gap="lg">
        <Facts
          facts={shown.map((field) => ({
            label: fieldTexts(kind, field).label,
            value: <bdi>{settingText(field, values.settings[field.name])}</bdi>,
          }))}
        />
        <TestResult report={trial.result} busy={trial.busy} error={trial.error} />
      </Stack>
    </Section>
  );
}
