import { Plus } from 'lucide-react';
import type { ComponentProps } from 'react';
import { GuardedButton } from './guarded-button.tsx';

/** The button that creates something, above a list and in its empty state. */
export const AddButton = (props: ComponentProps<typeof GuardedButton>) => (
  <GuardedButton leftSection={<Plus size={16} />} {...props} />
);
