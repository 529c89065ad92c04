import { Group, Text, VisuallyHidden } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import icon from '../../ui/icon.svg';

/** The logo and the name, linked to the overview. */
export function Brand() {
  const { t } = useTranslation('app');
  return (
    <Link to="/" style={{ textDecoration: 'none', color: 'inherit' }}>
      <Group gap={10} wrap="nowrap">
        <img src={icon} alt="" width={28} height={28} />
        <Text fw={700} visibleFrom="xs">
          Heliograph
        </Text>
        <VisuallyHidden>{t('toOverview')}</VisuallyHidden>
      </Group>
    </Link>
  );
}
