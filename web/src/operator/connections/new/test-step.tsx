import { Stack } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { PlugZap } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../../api/action.ts';
import { Facts } from '../../../ui/values/facts.tsx';
import { MayButton } from '../../../ui/actions/may-button.tsx';
import { Section } from '../../../ui/section.tsx';
import { OPERATOR } from '../../shared/need.ts';
import type { Kind } from '../connection.ts';
import { FIELDS } from '../fields.ts';
import { linksOf } from '../links-of.ts';
import { useSettingWords } from '../setting-words.ts';
import type { LinkValues } from '../settings-fields.tsx';
import { trySettings, Trial } from '../trial.tsx';

type StepProps = { readonly form: UseFormReturnType<LinkValues>; readonly kind: Kind };

/** What will be added, and whether the carrier lets us in with it: nothing is stored for that. */
export function TestStep({ form, kind }: StepProps) {
  const { t } = useTranslation('operator');
  const words = useSettingWords();
  const values = form.getValues();
  const trial = useAction({ run: () => trySettings(linksOf(kind, form.getValues())), form, quiet: true });
  const shown = [...FIELDS[kind].access, ...FIELDS[kind].main].filter(
    ({ name }) => values.settings[name] !== '' && typeof values.settings[name] === 'string',
  );
  return (
    <Section
      title={t('wizard.testTitle', { name: values.name })}
      description={t('wizard.testHint')}
      actions={
        <MayButton
          need={OPERATOR}
          variant="default"
          leftSection={<PlugZap size={16} />}
          loading={trial.busy}
          onClick={() => trial.run()}
        >
          {t(trial.made ? 'trial.again' : 'trial.open')}
        </MayButton>
      }
    >
      <Stack gap="lg">
        <Facts
          facts={shown.map((field) => ({
            label: t(`setting.${kind}.${field.name}`),
            value: <bdi>{words(field, values.settings[field.name])}</bdi>,
          }))}
        />
        <Trial tried={trial.made} busy={trial.busy} error={trial.error} />
      </Stack>
    </Section>
  );
}
