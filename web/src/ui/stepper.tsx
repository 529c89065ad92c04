import { Group, Stepper as MantineStepper, VisuallyHidden } from '@mantine/core';
import { CircleDashed } from 'lucide-react';
import type { ReactNode } from 'react';
import { useIsPhone } from './parts.tsx';

export type Step = {
  readonly id: string;
  readonly label: string;
  /** A note below the label, such as the choice made. */
  readonly note?: string;
  /** True if the step has an error. */
  readonly hasFault?: boolean;
  /** True if the step is incomplete: then it is not ticked once it is passed. */
  readonly isLacking?: boolean;
  readonly content: ReactNode;
};

type StepsProps = {
  readonly steps: readonly Step[];
  readonly active: string;
  readonly onChange: (id: string) => void;
  /** The buttons below the steps. */
  readonly footer?: ReactNode;
};

/** Spacing with which five steps and one label fit on a phone. */
const NARROW = { separator: { marginInline: 4 }, stepBody: { marginInlineStart: 6 } };

/** A form in steps that can be visited in any order. On a phone only the active step has a label. */
export function Steps({ steps, active, onChange, footer }: StepsProps) {
  const isPhone = useIsPhone();
  const at = Math.max(
    0,
    steps.findIndex(({ id }) => id === active),
  );
  return (
    <MantineStepper
      active={at}
      onStepClick={(index) => onChange(steps[index]?.id ?? active)}
      size="sm"
      iconSize={isPhone ? 28 : 32}
      wrap={false}
      {...(isPhone && { styles: NARROW })}
    >
      {steps.map((step, index) => (
        <MantineStepper.Step
          key={step.id}
          label={isPhone && index !== at ? <VisuallyHidden>{spokenName(step)}</VisuallyHidden> : step.label}
          description={isPhone ? undefined : step.note}
          {...(step.isLacking && { completedIcon: <CircleDashed size={18} aria-hidden="true" />, color: 'amber' })}
          {...(step.hasFault && { color: 'red' })}
        >
          {step.content}
          {footer && (
            <Group justify="space-between" mt="xl">
              {footer}
            </Group>
          )}
        </MantineStepper.Step>
      ))}
    </MantineStepper>
  );
}

/** The name of a step with its note, which a phone has no room to show. */
const spokenName = ({ label, note }: Step): string => (note ? `${label}: ${note}` : label);
