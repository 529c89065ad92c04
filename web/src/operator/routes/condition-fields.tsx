import {
  Checkbox,
  Collapse,
  Group,
  NumberInput,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  UnstyledButton,
} from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { ChevronDown, ChevronRight } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useDayName } from './conditions.tsx';
import { TimeZoneField } from '../../ui/time-zone/time-zone-field.tsx';
import type { NewRoute } from './new-route.ts';

/** The fields that few routes need: a share of the traffic, and the kinds of messages for the route. */
export function ConditionFields({ form }: { readonly form: UseFormReturnType<NewRoute> }) {
  const { t } = useTranslation('operator');
  const dayName = useDayName();
  const [isOpen, { toggle }] = useDisclosure(false);
  const Sign = isOpen ? ChevronDown : ChevronRight;
  const number = { allowDecimal: false, allowNegative: false, hideControls: true };
  return (
    <Stack gap="sm">
      <UnstyledButton type="button" onClick={toggle} aria-expanded={isOpen}>
        <Group gap={6} wrap="nowrap">
          <Sign size={16} aria-hidden="true" />
          <Text size="sm" fw={600}>
            {t('route.only.title')}
          </Text>
        </Group>
      </UnstyledButton>
      <Collapse expanded={isOpen}>
        <Stack gap="md">
          <NumberInput
            label={t('route.weight')}
            description={t('route.add.weightHint')}
            {...number}
            {...form.getInputProps('weight')}
          />
          <SimpleGrid cols={{ base: 1, sm: 3 }}>
            <TextInput
              label={t('route.only.networkLabel')}
              placeholder="22201"
              dir="ltr"
              maxLength={6}
              {...form.getInputProps('network')}
            />
            <NumberInput label={t('route.only.accountLabel')} {...number} {...form.getInputProps('accountId')} />
            <TextInput label={t('route.only.senderLabel')} maxLength={20} {...form.getInputProps('sender')} />
          </SimpleGrid>
          <SimpleGrid cols={{ base: 1, sm: 3 }}>
            <TextInput
              label={t('route.only.from')}
              placeholder="08:00"
              maxLength={5}
              {...form.getInputProps('from')}
              error={form.errors['hours']}
            />
            <TextInput label={t('route.only.to')} placeholder="20:00" maxLength={5} {...form.getInputProps('to')} />
            <TimeZoneField label={t('route.only.timeZone')} {...form.getInputProps('timeZone')} />
          </SimpleGrid>
          <Checkbox.Group label={t('route.only.weekdays')} {...form.getInputProps('weekdays')}>
            <Group gap="sm" mt="xs">
              {[1, 2, 3, 4, 5, 6, 7].map((day) => (
                <Checkbox key={day} value={String(day)} label={dayName(day)} />
              ))}
            </Group>
          </Checkbox.Group>
        </Stack>
      </Collapse>
    </Stack>
  );
}
