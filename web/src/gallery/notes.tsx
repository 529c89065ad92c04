import { SimpleGrid, Stack } from '@mantine/core';
import { Inbox } from 'lucide-react';
import { useState } from 'react';
import { ApiError } from '../api/errors.ts';
import { AddButton } from '../ui/actions/add-button.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { ErrorState } from '../ui/error-state.tsx';
import { Section } from '../ui/section.tsx';
import { Steps } from '../ui/stepper.tsx';
import { TableSkeleton } from '../ui/table/table-skeleton.tsx';

const REFUSED = new ApiError({ status: 422, message: 'The name is taken.', requestId: '0196f3c2' });
const AWAY = new ApiError({ status: 503, message: 'The server cannot respond right now.' });

/** Components shown instead of data: nothing yet, an error, a placeholder; and steps. */
export function Notes() {
  const [step, setStep] = useState('text');
  return (
    <>
      <Section title="Instead of data">
        <Stack>
          <EmptyState icon={Inbox} title="No messages yet" text="They appear here." help="concepts#campaigns">
            <AddButton>Send one</AddButton>
          </EmptyState>
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <ErrorState error={REFUSED} />
            <ErrorState error={AWAY} onRetry={() => undefined} />
          </SimpleGrid>
          <TableSkeleton rows={3} />
        </Stack>
      </Section>
      <Section title="Steps">
        <Steps
          active={step}
          onChange={setStep}
          steps={[
            { id: 'people', label: 'People', note: '1,204 contacts', content: 'Behind.' },
            { id: 'text', label: 'Text', content: 'The active step.' },
            { id: 'lacking', label: 'Sender', isLacking: true, content: 'Something is missing.' },
            { id: 'fault', label: 'Review', hasFault: true, content: 'Something is wrong.' },
          ]}
        />
      </Section>
    </>
  );
}
