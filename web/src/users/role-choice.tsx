import { Radio, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useSession } from '../api/session.ts';
import { ROLES } from './user.ts';

type RoleChoiceProps = {
  readonly value?: string;
  readonly onChange?: (value: string) => void;
  readonly error?: React.ReactNode;
};

/** The choice of a role, each with a description; roles that the user may not assign are disabled and say why. */
export function RoleChoice(props: RoleChoiceProps) {
  const { t } = useTranslation('users');
  const { role: own } = useSession();
  return (
    <Radio.Group label={t('column.role')} {...props}>
      <Stack gap="xs" mt="xs">
        {ROLES.map((role) => {
          const isRefused = role === 'owner' && own !== 'owner';
          return (
            <Radio
              key={role}
              value={role}
              label={t(`role.${role}`)}
              description={isRefused ? t('rule.owner') : t(`roleText.${role}`)}
              disabled={isRefused}
            />
          );
        })}
      </Stack>
    </Radio.Group>
  );
}
