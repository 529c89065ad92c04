import {
  Checkbox,
  Collapse,
  Group,
  NativeSelect,
  NumberInput,
  Radio,
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
import { api, ok } from '../api/send.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import { ownZone, TimeZoneField } from '../ui/time-zone.tsx';
import { type Purpose, usePurposes } from '../ui/values.tsx';
import { ConnectionChoice } from './connection-choice.tsx';
import { ROUTE_KEYS, ROUTES, type Route, useDayName } from './routes-conditions.tsx';
import { digitsOf, PrefixInput } from './shared.tsx';

/** The values of the form for a new route; empty texts are conditions that it does not have. */
type NewRoute = {
  readonly prefix: string;
  readonly connection: string;
  readonly priority: number | string;
  readonly onUnknown: Route['onUnknown'];
  readonly weight: number | string;
  readonly network: string;
  readonly accountId: number | string;
  readonly sender: string;
  readonly purpose: Purpose;
  readonly from: string;
  readonly to: string;
  readonly timeZone: string;
  readonly weekdays: readonly string[];
};

/** The values of an empty form, for a connection. */
const emptyRoute = (connection: string): NewRoute => ({
  prefix: '',
  connection,
  priority: 100,
  onUnknown: 'hold',
  weight: '',
  network: '',
  accountId: '',
  sender: '',
  purpose: '',
  from: '',
  to: '',
  timeZone: ownZone(),
  weekdays: ['1', '2', '3', '4', '5', '6', '7'],
});

/** The body of the request that adds the route of a form. */
const toBody = ({
  prefix,
  priority,
  weight,
  network,
  accountId,
  sender,
  purpose,
  connection,
  onUnknown,
  ...hours
}: NewRoute) => ({
  channel: 'SMS' as const,
  prefix: digitsOf(prefix),
  connection,
  onUnknown,
  hours: hoursOf(hours),
  ...(priority !== '' && { priority: Number(priority) }),
  ...(weight !== '' && { weight: Number(weight) }),
  ...(network !== '' && { network }),
  ...(accountId !== '' && { accountId: Number(accountId) }),
  ...(sender !== '' && { sender }),
  ...(purpose !== '' && { purpose }),
});

/** Days without hours mean whole days; every day at every hour is no condition. */
function hoursOf({ from, to, timeZone, weekdays }: Pick<NewRoute, 'from' | 'to' | 'timeZone' | 'weekdays'>) {
  const days = weekdays.map(Number).sort((a, b) => a - b);
  if (from === '' && to === '' && days.length === 7) return null;
  return { from: from || '00:00', to: to || '24:00', timeZone, weekdays: days };
}

/** The fields that few routes need: a share of the traffic, and the kinds of messages for the route. */
function ConditionFields({ form }: { readonly form: UseFormReturnType<NewRoute> }) {
  const { t } = useTranslation('operator');
  const dayName = useDayName();
  const purposes = usePurposes('–');
  const [isOpen, { toggle }] = useDisclosure(false);
  const Sign = isOpen ? ChevronDown : ChevronRight;
  const number = { allowDecimal: false, allowNegative: false, hideControls: true };
  return (
    <Stack gap="sm">
      <UnstyledButton type="button" onClick={toggle} aria-expanded={isOpen}>
        <Group gap={6} wrap="nowrap">
          <Sign size={16} aria-hidden="true" />
          <Text size="sm" fw={500}>
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
          <NativeSelect label={t('ui:purpose.label')} data={purposes} {...form.getInputProps('purpose')} />
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

/** Dialog that adds a route: numbers with a prefix go over a connection. */
export function AddDialog({ connection }: { readonly connection: string }) {
  const { t } = useTranslation('operator');
  return (
    <FormDialog<NewRoute, unknown>
      title={t('route.add.title')}
      size="md"
      values={emptyRoute(connection)}
      validate={{ connection: (name) => (name === '' ? t('route.add.connectionMissing') : null) }}
      run={(route) => ok(api.POST(ROUTES, { body: toBody(route) }))}
      refresh={ROUTE_KEYS}
      done={t('route.add.done')}
      action={t('route.add.submit')}
    >
      {(form) => (
        <>
          <ConnectionChoice routedBy="prefix" {...form.getInputProps('connection')} />
          <PrefixInput data-autofocus {...form.getInputProps('prefix')} />
          <NumberInput
            label={t('route.priority')}
            description={t('route.add.priorityHint')}
            allowDecimal={false}
            hideControls
            {...form.getInputProps('priority')}
          />
          <ConditionFields form={form} />
          <Radio.Group
            label={t('route.onUnknown')}
            description={t('route.add.unknownHint')}
            {...form.getInputProps('onUnknown')}
          >
            <Stack gap="xs" mt="xs">
              <Radio value="hold" label={t('route.unknown.hold')} description={t('route.add.holdHint')} />
              <Radio value="resubmit" label={t('route.unknown.resubmit')} description={t('route.add.resubmitHint')} />
            </Stack>
          </Radio.Group>
        </>
      )}
    </FormDialog>
  );
}
