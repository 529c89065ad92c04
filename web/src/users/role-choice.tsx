import { Radio, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { ROLES } from './user.ts';

type RoleChoiceProps = {
  readonly value?: string;
  readonly onChange?: (value: string) => void;
  readonly error?: React.ReactNode;
};

/** The choice of a role, each with a description. */
export function RoleChoice(props: RoleChoiceProps) {
  const { t } = useTranslation('users');
  return (
    <Radio.Group label={t('column.role')} {...props}>
      <Stack gap="xs" mt="xs">
        {ROLES.map((role) => (
          <Radio key={role} value={role} label={t(`role.${role}`)} description={t(`roleText.${role}`)} />
        ))}
      </Stack>
    </Radio.Group>
  );
}
